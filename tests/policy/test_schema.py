from __future__ import annotations

import json
from typing import Any

from shoal.policy import Policy


def test_it_is_json_and_names_every_section() -> None:
    schema = json.loads(json.dumps(Policy.json_schema(), allow_nan=False))
    assert list(schema["properties"]) == [
        "version",
        "person",
        "person_missing",
        "time",
        "nulls",
        "item",
        "attributes",
        "privacy",
        "window",
        "weights",
        "sparse",
        "algorithm",
    ]
    assert schema["required"] == ["person"]
    named = {"required": ["name"], "properties": {"name": {"const": "zanon"}}}
    assert schema["if"] == {"required": ["algorithm"], "properties": {"algorithm": named}}
    absent = dict.fromkeys(["privacy", "window", "weights", "sparse"], False)
    assert schema["then"] == {"required": ["time", "item"], "properties": absent}
    assert schema["else"] == {"required": ["attributes", "privacy", "window"], "properties": {"item": False}}
    assert schema["additionalProperties"] is False


def test_every_key_is_described() -> None:
    schema = Policy.json_schema()
    parts: list[dict[str, Any]] = [schema, *schema["$defs"].values()]
    for part in parts:
        for key, value in part["properties"].items():
            assert value.get("description"), key


def test_bounds_are_said_in_json_schemas_own_words() -> None:
    text = json.dumps(Policy.json_schema())
    assert '"minimum": 1' in text
    assert '"exclusiveMinimum": 0' in text
    for word in ('"ge"', '"gt"', '"le"'):
        assert word not in text


def test_algorithms_are_told_apart_by_name() -> None:
    algorithm = Policy.json_schema()["properties"]["algorithm"]
    names = {"fads", "iot", "kvarp", "idea", "xband", "castle", "fast", "tide", "zanon"}
    assert set(algorithm["discriminator"]["mapping"]) == names
