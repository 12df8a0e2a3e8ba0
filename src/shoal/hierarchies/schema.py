"""The JSON schema of a hierarchy in a policy, for editors."""

from __future__ import annotations

from typing import Any

from shoal.hierarchies.build import BUILDERS
from shoal.hierarchies.ready import READY
from shoal.hierarchies.rule import Rule

_VALUES = {
    "description": "the leaves: a list, or a file in the policy's folder with one a line",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1}],
}
_TOLD = {
    "levels": "the levels above the leaves, finest first",
    "range": "the values to start from: the first and the last, or a network, or the corners of a map",
    "step": "the distance between two values of the range",
}


def _builder(rule: type[Rule]) -> dict[str, Any]:
    keys = {key: {"description": _TOLD[key], **schema} for key, schema in rule.KEYS.items()}
    return {
        "type": "object",
        "properties": {
            "builder": {"description": "the rule that places a value", "const": rule.NAME},
            **keys,
            "values": _VALUES,
            "root": {"description": "the label of the root", "type": "string"},
        },
        "required": ["builder"],
        "additionalProperties": False,
    }


def _ready(name: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "ready": {"description": "a hierarchy that comes with shoal", "const": name},
            "by": {"description": "how its leaves are written", "enum": [*READY[name]]},
        },
        "required": ["ready"],
        "additionalProperties": False,
    }


def _named(key: str) -> dict[str, Any]:
    return {"required": [key], "properties": {key: {"type": "string"}}}


SCHEMA: dict[str, Any] = {
    "type": ["string", "object"],
    "if": {"type": "object", "anyOf": [_named("builder"), _named("ready")]},
    "then": {"oneOf": [*map(_builder, BUILDERS.values()), *map(_ready, READY)]},
    "else": {"type": ["string", "object"], "minProperties": 1, "maxProperties": 1},
}
