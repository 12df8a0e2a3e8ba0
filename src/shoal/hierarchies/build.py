"""Hierarchies by name: built by a rule, or ready-made; completed with values that they lack; and their JSON schema."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.resources import files
from typing import Any

from shoal.errors import PolicyError
from shoal.hierarchies.builders import Bands, Cells, Dates, Icd10, Networks, Prefix
from shoal.hierarchies.rule import Rule, Unfit

BUILDERS: dict[str, type[Rule]] = {rule.NAME: rule for rule in (Bands, Dates, Prefix, Networks, Cells, Icd10)}
ROOT = "any"
_MOST = 10
READY: dict[str, tuple[str, ...]] = {
    "countries": ("name", "alpha-2", "alpha-3"),
    "education": ("name", "code"),
    "occupation": ("name", "code"),
}  # the ways in which the leaves of each can be written; the first is the default

MARK = "UNSORTED"
_VALUES = {
    "description": "the leaves: a list, or a file in the policy's folder with one per line",
    "anyOf": [{"type": "string"}, {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 1}],
}
_DESCRIPTIONS = {
    "levels": "the levels above the leaves, finest first",
    "range": "the values to start from: the first and the last, or a network, or the corners of a map",
    "step": "the distance between two values of the range",
}


def is_named(written: Mapping[Any, Any]) -> bool:
    """Whether a mapping names a builder or a ready-made hierarchy, and is not a tree itself.

    >>> is_named({"builder": "bands", "levels": [5]}), is_named({"builder": ["a", "b"]})
    (True, False)
    """
    return any(isinstance(written.get(key), str) for key in ("builder", "ready"))


def build(written: Mapping[str, Any]) -> list[list[str]]:
    """The lines, each from a leaf to the root, of a builder over its values, or else over its range.

    >>> build({"builder": "prefix", "levels": [2], "values": ["7501", "7502", "69"]})
    [['7501', '75*', 'any'], ['7502', '75*', 'any'], ['69', '69*', 'any']]
    """
    if "ready" in written:
        return ready(written)
    name = written["builder"]
    if name not in BUILDERS:
        near = get_close_matches(str(name), BUILDERS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PolicyError([f"builder: there is no such one; known are {', '.join(BUILDERS)}{hint}"])
    known = ("builder", "values", "root", *BUILDERS[name].KEYS)
    unknown = [f"{key}: unknown key of the builder {name}; known are {', '.join(known)}" for key in written if key not in known]
    if unknown:
        raise PolicyError(unknown)
    rule = BUILDERS[name](written)
    return _lines(rule, _values(rule, written), _root(written))


def _values(rule: Rule, written: Mapping[str, Any]) -> Iterable[str]:
    values = written.get("values")
    if values is None:
        values = rule.leaves()
    elif "range" in written:
        raise PolicyError(["values: are given, and a range too; keep one of them"])
    if values is None:
        raise PolicyError(["has no leaves; give a range, or list the values under values or in a file that it names"])
    if not isinstance(values, list | tuple):
        return values if not isinstance(values, str | Mapping) else [str(values)]
    if not values:
        raise PolicyError(["values: is empty; list some"])
    return [str(value).strip() for value in values]


def _root(written: Mapping[str, Any]) -> str:
    root = written.get("root", ROOT)
    if not isinstance(root, str) or not root.strip():
        raise PolicyError(["root: is no label; write a word, such as any"])
    return root.strip()


def _lines(rule: Rule, values: Iterable[str], root: str) -> list[list[str]]:
    lines, problems = [], []
    for place, value in enumerate(values, 1):
        try:
            lines.append([value, *rule.above(value), root])
        except Unfit as error:
            problems.append(f"values: number {place} {error} (withheld); correct it or take it out")
        if len(problems) == _MOST:
            break
    if problems:
        raise PolicyError(problems)
    return lines


def ready(written: Mapping[str, Any]) -> list[list[str]]:
    """The lines of a ready-made hierarchy.

    >>> ready({"ready": "countries", "by": "alpha-2"})[0]
    ['DZ', 'Northern Africa', 'Africa', 'World']
    """
    name, unknown = written["ready"], [key for key in written if key not in ("ready", "by")]
    if name not in READY:
        raise PolicyError([f"ready: there is no such one; known are {', '.join(READY)}"])
    if unknown:
        raise PolicyError([f"{key}: unknown key of a ready hierarchy; known are ready, by" for key in unknown])
    ways = READY[name]
    by = written.get("by", ways[0])
    if by not in ways:
        raise PolicyError([f"by: is not a way in which {name} are written; use {' or '.join(ways)}"])
    text = files("shoal.hierarchies").joinpath("ready", f"{name}.csv").read_text(encoding="utf-8")
    rows = csv.reader(text.splitlines()[1:], delimiter=";")
    return [[row[ways.index(by)], *filter(None, row[len(ways) :])] for row in rows]


def completed(lines: Sequence[Sequence[str]], values: Iterable[str], mark: str = MARK) -> list[list[str]]:
    """The same lines, and one for each value that is not a leaf, under a node of its own below the root, to be sorted by hand.

    >>> completed([["Paris", "France", "Europe"]], ["Oslo", "Paris"])
    [['Paris', 'France', 'Europe'], ['Oslo', 'UNSORTED', 'Europe']]
    """
    leaves, inner = {line[0] for line in lines}, {label for line in lines for label in line[1:]}
    lacking = [value for value in dict.fromkeys(values) if value not in leaves]
    clash = sum(value in inner or value == mark for value in lacking)
    if clash:
        raise PolicyError([
            f"{clash:,} of the values are labels of inner nodes, and cannot be leaves too; rename those nodes, such as by "
            "writing 'all of …'"
        ])  # fmt: skip
    root = lines[0][-1]
    return [*map(list, lines), *([value, mark, root] for value in lacking)]


def _builder_schema(rule: type[Rule]) -> dict[str, Any]:
    keys = {key: {"description": _DESCRIPTIONS[key], **schema} for key, schema in rule.KEYS.items()}
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


def _ready_schema(name: str) -> dict[str, Any]:
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
    "then": {"oneOf": [*map(_builder_schema, BUILDERS.values()), *map(_ready_schema, READY)]},
    "else": {"type": ["string", "object"], "minProperties": 1, "maxProperties": 1},
}
