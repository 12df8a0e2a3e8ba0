"""Writes docs/policy-keys.md, every key of a policy in tables, from the JSON schema.

python -m tools.keys
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal import Policy

PAGE = Path(__file__).parents[1] / "docs/policy-keys.md"
_HEAD = """# Every key of a policy

`python -m tools.keys` writes this page from the JSON schema, which `shoal schema` prints. [The policy](policy.md) explains the
keys, with examples.
"""
_TREE = "a file, a tree, or a [builder](policy.md#builders)"
_TYPES = {
    "string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "object": "a mapping",
    "array": "a list", "null": "none",
}  # fmt: skip
_BOUNDS = {"minimum": "from {}", "exclusiveMinimum": "above {}", "maximum": "up to {}", "exclusiveMaximum": "below {}"}

Schema = Mapping[str, Any]


def text() -> str:
    """The whole page."""
    schema = Policy.json_schema()
    return "\n".join([_HEAD, *_section("policy", schema), *(line for part in _parts(schema) for line in part)])


def _parts(schema: Schema) -> Iterator[Iterator[str]]:
    """A section for each mapping that a policy may hold, in alphabetical order; algorithms come last."""
    parts = schema["$defs"]
    algorithms = {name for name, part in parts.items() if "const" in part["properties"].get("name", {})}
    for name in sorted(parts, key=lambda name: (name in algorithms, name)):
        title = f"algorithm: {name.lower()}" if name in algorithms else name.lower()
        yield _section(title, parts[name])


def _section(title: str, schema: Schema) -> Iterator[str]:
    yield f"## {title}\n"
    yield f"{_sentence(schema.get('description', ''))}\n"
    yield "| key | what | kind | default |\n|---|---|---|---|"
    for key, part in schema["properties"].items():
        kind = _TREE if key == "hierarchy" else _kind(part)
        default = "required" if key in schema.get("required", []) else _default(key, part)
        yield f"| `{key}` | {part.get('description', '')} | {kind} | {default} |"
    yield ""


def _sentence(words: str) -> str:
    first = words.split("\n\n")[0].replace("\n", " ")
    return first if first.endswith(".") else f"{first}."


def _kind(schema: Schema) -> str:
    """What may stand there, in words.

    >>> _kind({"type": "integer", "minimum": 1})
    'a whole number from 1'
    """
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1].lower()
        return f"[{name}](#{name})"
    if "const" in schema:
        return f"`{_written(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"] if value is not None)
    if "discriminator" in schema:
        return ", ".join(f"[{name}](#algorithm-{name})" for name in sorted(schema["discriminator"]["mapping"]))
    for several in ("anyOf", "oneOf"):
        if several in schema:
            kinds = (_kind(each) for each in schema[several] if each.get("type") != "null")
            return " or ".join(dict.fromkeys(kinds))
    return _simple(schema)


def _simple(schema: Schema) -> str:
    types = schema.get("type", "object")
    if types == "array" and isinstance(schema.get("items"), dict) and "type" in schema["items"]:
        size = f" {schema['minItems']}" if schema.get("minItems", 0) == schema.get("maxItems") else ""
        return f"a list of{size} {_several(_simple(schema['items']))}"
    if types == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"a mapping of names to {_several(_kind(schema['additionalProperties']))}"
    if types == "object" and schema.get("properties"):
        return "{" + ", ".join(f"`{key}`: {_kind(part)}" for key, part in schema["properties"].items()) + "}"
    words = [_TYPES[each] for each in (types if isinstance(types, list) else [types]) if each != "null"]
    return " ".join([" or ".join(words), *(text.format(schema[bound]) for bound, text in _BOUNDS.items() if bound in schema)])


def _several(kind: str) -> str:
    """
    >>> _several("text"), _several("a number or text"), _several("a list of numbers or text")
    ('texts', '(a number or text)', '(a list of numbers or text)')
    """
    plural = {"text": "texts", "a number": "numbers", "a whole number": "whole numbers"}
    return plural.get(kind, f"({kind})" if " or " in kind else kind)


def _default(key: str, schema: Schema) -> str:
    value = schema.get("default")
    if key == "algorithm":
        return f"`{{name: {value['name']}}}`"
    if key == "sparse":
        return "`suppress`"
    if key == "nulls":
        return '`[""]`'
    return "" if value is None or value in ({}, []) else f"`{_written(value)}`"


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
