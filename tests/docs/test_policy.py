"""docs/policy.md tells every key, every value that can be chosen, and every default of an algorithm's own parameter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from shoal import Policy
from shoal.policy.algorithm import KNOWN, NAMES, Parameters
from tests.docs.base import DOCUMENTS, blocks, name, prose, read

PAGE = prose(read("docs/policy.md"))
SPANS = re.findall(r"`([^`]+)`", PAGE)
QUOTED = {*re.findall(r"[\w-]+", " ".join(SPANS)), *SPANS}


def keys(schema: Any) -> Iterator[str]:
    """The names of all properties anywhere in a JSON schema, and the values that are listed for them."""
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        yield from properties
        yield from (value for value in [*schema.get("enum", []), schema.get("const")] if isinstance(value, str))
        for part in schema.values():
            yield from keys(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from keys(part)


KEYS = sorted(set(keys(Policy.json_schema())))
OWN = [
    (algorithm, key, "required" if field.is_required() else field.default)
    for algorithm, known in zip(NAMES, KNOWN, strict=True)
    for key, field in known.model_fields.items()
    if key not in Parameters.model_fields
]


def test_the_schema_is_understood() -> None:
    assert {"person_missing", "grid", "nulls_match", "buffer", "radius", "generalize", "clip", "xband"} <= set(KEYS)


@pytest.mark.parametrize("key", KEYS)
def test_every_key_and_value_is_told(key: str) -> None:
    assert key in QUOTED or f'"{key}"' in QUOTED


@pytest.mark.parametrize(("algorithm", "key", "default"), OWN)
def test_parameters_stand_in_a_table_with_their_defaults(algorithm: str, key: str, default: Any) -> None:
    row = re.search(rf"^\| `{algorithm}` \| `{key}` \|(.*)\|$", PAGE, re.MULTILINE)
    assert row
    shown = row[1].split("|")[1].strip()
    assert shown == str(default) or (default is None and shown)


def examples() -> Iterator[Any]:
    """The YAML blocks of all documents that are whole policies."""
    for document in DOCUMENTS:
        for number, block in enumerate(blocks(document.read_text(encoding="utf-8"))):
            is_whole = ("attributes:" in block.text and "privacy:" in block.text) or "item:" in block.text
            if block.language == "yaml" and is_whole:
                yield pytest.param(block.text, id=f"{name(document)}-{number}")


EXAMPLES = list(examples())


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("text", EXAMPLES)
def test_examples_are_policies(text: str, tmp_path: Any) -> None:
    for file in re.findall(r"hierarchy: ([\w-]+\.csv)", text):
        (tmp_path / file).write_text("a;any\nb;any\n")
    Policy.parse(text, tmp_path)
