"""A policy as it is written: its sections, each checked on its own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, PlainValidator, WithJsonSchema

from shoal.policy.algorithm import FILTER, Algorithm, Tide
from shoal.policy.attribute import Attribute
from shoal.policy.event_time import Time
from shoal.policy.item import Item
from shoal.policy.part import Part, refusal
from shoal.policy.privacy import Privacy
from shoal.policy.scalar import Few, Name, Weight, whole
from shoal.policy.sparse import SUPPRESS, Sparse
from shoal.policy.text import canonical
from shoal.policy.window import Window

NOBODY = "none"
MOST_QUASI = 64

DEFAULT = Tide()
"""The algorithm of a policy that names none."""

NEEDED = ("attributes", "privacy", "window")
"""What a policy needs whose algorithm holds a window."""

NEEDED_TO_FILTER = ("time", "item")
"""What it needs where nothing is held."""

_HELD = ("privacy", "window", "weights", "sparse", "lanes")

_FORMS: dict[str, JsonValue] = {
    "if": {
        "required": ["algorithm"],
        "properties": {"algorithm": {"required": ["name"], "properties": {"name": {"const": FILTER}}}},
    },
    "then": {"required": [*NEEDED_TO_FILTER], "properties": dict.fromkeys([*_HELD], False)},
    "else": {"required": [*NEEDED], "properties": {"item": False}},
}


def _person(value: object) -> object:
    if value is None:
        raise refusal("is empty; name a field, or write none where every record is its own person")
    return value


def _nulls(value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise refusal('is not a list; write it like ["", "NA"]')
    problems: list[tuple[str, str]] = []
    for position, entry in enumerate(value):
        if isinstance(entry, dict | list | tuple | set):
            problems.append((str(position), "is not text; quote it"))
        elif canonical(entry) is None:
            problems.append((str(position), "is null, which always means missing; remove it, or quote it"))
    if problems:
        raise refusal(*problems)
    return tuple(dict.fromkeys(canonical(entry) or "" for entry in value))


def _attributes(value: object) -> object:
    if isinstance(value, dict) and not value:
        raise refusal("is empty; list what is to be published")
    return value


Nulls = Annotated[
    tuple[str, ...],
    PlainValidator(_nulls),
    WithJsonSchema({"type": "array", "items": {"type": ["string", "number", "boolean"]}}),
]


class Document(Part):
    """An anonymization policy of shoal."""

    model_config = ConfigDict(json_schema_extra=_FORMS)

    version: Annotated[Literal[1], BeforeValidator(whole)] = Field(default=1, description="the version of this format")
    person: Annotated[Name, BeforeValidator(_person)] = Field(
        description="the field that tells persons apart, or none where every record is its own person"
    )
    person_missing: Literal["reject", "own"] = Field(
        default="reject", description="what becomes of a record without its person: rejected, or a person of its own"
    )
    time: Time | None = Field(default=None, description="the records' own time, such as {field: ts}")
    nulls: Nulls = Field(default=("",), description="texts that mean missing")
    item: Item | None = Field(default=None, description="what is counted and published by zanon, such as {field: site}")
    attributes: Annotated[dict[Name, Attribute], BeforeValidator(_attributes)] = Field(
        default={}, description="what is published and how; nothing else is published"
    )
    privacy: Privacy | None = Field(default=None, description="what is promised, such as {k: 50}")
    window: Window | None = Field(
        default=None, description="how long a tuple may be held, such as {count: 2000} or {time: 30s}"
    )
    weights: dict[Name, Weight] = Field(
        default={}, description="how much each quasi-identifier counts in losses and distances, such as {age: 2}; 1 if absent"
    )
    sparse: Sparse = Field(
        default=SUPPRESS,
        description="what becomes of a tuple that is due while fewer than k persons are there: suppress, or {stretch: 4}",
    )
    lanes: Few = Field(default=1, description="windows side by side that share the stream, for several cores")
    algorithm: Algorithm = Field(
        default=DEFAULT, description="the algorithm and its parameters, such as {name: idea}", discriminator="name"
    )
