"""How a group shows what its members have of a categorical quasi-identifier: as one node of the hierarchy, or as a set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import PlainValidator, WithJsonSchema

from shoal.config import refusal, whole
from shoal.errors import PolicyError
from shoal.policy.canonical import canonical
from shoal.policy.hierarchy import Hierarchy

_FORM = "write node, set, {set: {most: 5}} or {set: {min_support: 2}}"
_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"enum": ["node", "set"]},
        {"type": "object", "required": ["set"], "additionalProperties": False,
         "properties": {"set": {"type": "object", "additionalProperties": False, "properties": {
             "most": {"type": "integer", "minimum": 2}, "min_support": {"type": "integer", "minimum": 1}}}}},
    ]
}  # fmt: skip


class Sets(NamedTuple):
    """A group shows the values of its members.

    - `most`: at most so many; with more, the lowest node that covers them all.
    - `min_support`: a value that fewer persons of the group have is not shown, but the lowest node above it that as many have.
    """

    most: int | None = None
    min_support: int = 1


def _generalize(value: object) -> Literal["node"] | Sets:
    match value:
        case Sets() | "node":
            return value
        case "set":
            return Sets()
        case Mapping() if list(value) == ["set"]:
            options = value["set"]
            if isinstance(options, Mapping) and set(options) <= {"most", "min_support"}:
                most = _at_least(2, options["most"], "most") if "most" in options else None
                return Sets(most, _at_least(1, options.get("min_support", 1), "min_support"))
    raise refusal(f"is not allowed; {_FORM}")


def _at_least(least: int, value: object, key: str) -> int:
    number = whole(value)
    if number < least:
        raise refusal((f"set.{key}", f"is below {least}; use at least {least}"))
    return number


Generalize = Annotated[Literal["node"] | Sets, PlainValidator(_generalize), WithJsonSchema(_SCHEMA)]


def _values(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise refusal("is not a list; write all values that there can be, such as [red, green]")
    texts = [canonical(one) for one in value]
    if not all(texts) or len(set(texts)) < len(texts):
        raise refusal("has an empty value, or one twice; write each value once")
    return tuple(text for text in texts if text)


Values = Annotated[
    tuple[str, ...],
    PlainValidator(_values),
    WithJsonSchema({"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 1}),
]


def flat(values: Iterable[str]) -> Hierarchy:
    """A hierarchy of values that have nothing but a root above them.

    >>> flat(["red", "any"]).labels
    ('red', 'any', 'any value')
    """
    leaves, root = list(values), "any"
    while root in leaves:
        root = f"{root} value"
    try:
        return Hierarchy.of([[leaf, root] for leaf in leaves])
    except PolicyError as error:
        raise refusal(*error.problems) from None
