from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

from policy.base import RIGHT, changed, with_attribute
from shoal.config.yaml_text import read_yaml
from shoal.errors import PolicyError
from shoal.hierarchies import BUILDERS
from shoal.policy import Policy
from shoal.policy.policy_file import schema_text


def test_it_is_json_and_names_every_section() -> None:
    schema = json.loads(json.dumps(Policy.json_schema(), allow_nan=False))
    assert list(schema["properties"]) == [
        "version",
        "about",
        "person",
        "person_missing",
        "time",
        "input",
        "nulls",
        "item",
        "attributes",
        "nesting",
        "privacy",
        "window",
        "weights",
        "suppressed",
        "sparse",
        "releases",
        "lanes",
        "algorithm",
    ]
    assert schema["required"] == ["person"]
    named = {"required": ["name"], "properties": {"name": {"const": "zanon"}}}
    assert schema["if"] == {"required": ["algorithm"], "properties": {"algorithm": named}}
    absent = dict.fromkeys(["privacy", "window", "weights", "suppressed", "sparse", "lanes", "releases"], False)
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
    schema_text = json.dumps(Policy.json_schema())
    assert '"minimum": 1' in schema_text
    assert '"exclusiveMinimum": 0' in schema_text
    for word in ('"ge"', '"gt"', '"le"'):
        assert word not in schema_text


def test_algorithms_are_told_apart_by_name() -> None:
    algorithm = Policy.json_schema()["properties"]["algorithm"]
    names = {"fads", "iot", "kvarp", "idea", "xband", "castle", "fast", "tide", "zanon"}
    assert set(algorithm["discriminator"]["mapping"]) == names


def test_the_published_file_is_up_to_date() -> None:
    """Written by `shoal schema`."""
    assert files("shoal").joinpath("policy.schema.json").read_text(encoding="utf-8") == schema_text()


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    jsonschema.Draft202012Validator.check_schema(Policy.json_schema())
    return jsonschema.Draft202012Validator(Policy.json_schema())


GOOD = [
    RIGHT,
    changed(window={"time": "30s"}, time={"field": "ts"}),
    changed(algorithm=None),
    with_attribute(quasi="categorical", hierarchy="city.csv", unknown="root"),
    *(with_attribute(quasi="categorical", hierarchy=read_yaml(rule.EXAMPLE)) for rule in BUILDERS.values()),
    with_attribute(quasi="categorical", hierarchy={"builder": "prefix", "levels": [2], "values": ["75", "69"]}),
    with_attribute(quasi="categorical", hierarchy={"ready": "countries", "by": "alpha-2"}),
    with_attribute(quasi="categorical", hierarchy={"ready": ["set", "go"]}),
]
BAD = [
    changed(person=None),
    changed(privacy={"k": 0}),
    changed(privacy={"k": "many"}),
    changed(window={"count": 5, "time": "5s"}),
    changed(algorithm={"name": "magic"}),
    changed(anything=1),
    with_attribute(quasi="numeric"),
    with_attribute(quasi="numeric", range=[0, 1], sensitive=True),
    with_attribute(quasi="categorical", hierarchy={"a": [1], "b": [2]}),
    with_attribute(quasi="categorical", hierarchy={"builder": "magic"}),
    with_attribute(quasi="categorical", hierarchy={"builder": "bands", "levels": [5], "range": [0, 9], "width": 5}),
    with_attribute(quasi="categorical", hierarchy={"ready": "countries", "by": "code"}),
]


@pytest.mark.slow
@pytest.mark.parametrize("written", GOOD)
def test_editors_accept_what_is_right(written: dict[str, Any], validator: Any, tmp_path: Any) -> None:
    (tmp_path / "city.csv").write_text("a;any\nb;any\n")
    Policy.parse(written, tmp_path)
    assert [error.message for error in validator.iter_errors(written)] == []


@pytest.mark.parametrize("written", BAD)
def test_editors_refuse_what_is_wrong(written: dict[str, Any], validator: Any) -> None:
    with pytest.raises(PolicyError):
        Policy.parse(written)
    assert not validator.is_valid(written)
