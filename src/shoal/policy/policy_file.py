"""A policy as it is written: its sections, checked one by one and together, with all problems at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)

from shoal.config import Few, FrozenModel, Name, Place, Weight, dotted, missing, problems, refusal, unknown, whole
from shoal.errors import PolicyError
from shoal.policy.about import About
from shoal.policy.algorithm import FILTER, NAMES, Algorithm, Tide
from shoal.policy.attribute import Attribute
from shoal.policy.canonical import canonical
from shoal.policy.checks import conflicts
from shoal.policy.input import Input, nulls_by_field
from shoal.policy.outside import outside_names, parameters_of
from shoal.policy.sections import SUPPRESS, Item, Privacy, Sparse, Suppressed, Time, Window
from shoal.policy.stable import Releases
from shoal.policy.zanon import FIXED, TUNED, Auto, Tuned

DEFAULT = Tide()  # the algorithm of a policy that names none
NEEDED = ("attributes", "privacy", "window")  # the sections that a policy needs if its algorithm has a window
NEEDED_TO_FILTER = ("time", "item")  # the sections that it needs if its algorithm is a filter
_WINDOW_ONLY = ("privacy", "window", "weights", "suppressed", "sparse", "lanes", "releases")

_FORMS: dict[str, JsonValue] = {
    "if": {
        "required": ["algorithm"],
        "properties": {"algorithm": {"required": ["name"], "properties": {"name": {"const": FILTER}}}},
    },
    "then": {"required": [*NEEDED_TO_FILTER], "properties": dict.fromkeys([*_WINDOW_ONLY], False)},
    "else": {"required": [*NEEDED], "properties": {"item": False}},
}
_NOT_SHOWN = ("[key]", FIXED, TUNED)
_NESTED: dict[str, type[BaseModel]] = {
    "about": About,
    "time": Time,
    "input": Input,
    "item": Item,
    "privacy": Privacy,
    "window": Window,
    "attributes": Attribute,
    "releases": Releases,
}


BLANK = ""


class Nulls(NamedTuple):
    """The texts that mean missing: in all fields, but for those that have texts of their own."""

    usual: tuple[str, ...]
    own: Mapping[str, tuple[str, ...]] = {}


def _person(value: object) -> object:
    if value is None:
        raise refusal("is empty; name a field, or write none where every record is its own person")
    return value


def _nulls(value: object) -> Nulls:
    if isinstance(value, Mapping):
        return Nulls((BLANK,), {key: _texts(texts, f"{key}.") for key, texts in nulls_by_field(value).items()})
    return Nulls(_texts(value))


def _texts(value: object, place: str = "") -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise refusal((place.rstrip("."), 'is not a list; write it like ["", "NA"]'))
    problems: list[tuple[str, str]] = []
    for position, entry in enumerate(value):
        if isinstance(entry, dict | list | tuple | set):
            problems.append((f"{place}{position}", "is not text; quote it"))
        elif canonical(entry) is None:
            problems.append((f"{place}{position}", "is null, which always means missing; remove it, or quote it"))
    if problems:
        raise refusal(*problems)
    return tuple(dict.fromkeys(canonical(entry) or "" for entry in value))


def _attributes(value: object) -> object:
    if isinstance(value, dict) and not value:
        raise refusal("is empty; list what is to be published")
    return value


_LIST: dict[str, JsonValue] = {"type": "array", "items": {"type": ["string", "number", "boolean"]}}
WrittenNulls = Annotated[
    Nulls,
    PlainValidator(_nulls),
    WithJsonSchema({"anyOf": [_LIST, {"type": "object", "additionalProperties": _LIST}]}),
]


class PolicyFile(FrozenModel):
    """An anonymization policy of shoal."""

    model_config = ConfigDict(json_schema_extra=_FORMS, title="Policy", defer_build=True)

    version: Annotated[Literal[1], BeforeValidator(whole)] = Field(default=1, description="the version of this format")
    about: About | None = Field(default=None, description="what the output is for, and who answers for it; reports repeat it")
    person: Annotated[Name, BeforeValidator(_person)] = Field(
        description="the field that identifies persons, or none if every record is a different person"
    )
    person_missing: Literal["reject", "own"] = Field(
        default="reject", description="a record without a person: reject it, or own: it counts as a different person"
    )
    time: Time | None = Field(default=None, description="the records' own time, such as {field: ts}")
    input: Input | None = Field(
        default=None, description='how the input is written, such as {separator: ";", encoding: cp1252, decimal: ","}'
    )
    nulls: WrittenNulls = Field(
        default=Nulls((BLANK,)),
        description='texts that mean missing: a list for all fields, or lists by field, such as {age: ["", NA]}',
    )
    item: Item | None = Field(default=None, description="what is counted and published by zanon, such as {field: site}")
    attributes: Annotated[dict[Name, Attribute], BeforeValidator(_attributes)] = Field(
        default={}, description="what is published and how; nothing else is published"
    )
    nesting: Literal["flat", "keep"] = Field(
        default="flat",
        description="how fields inside fields are written as JSON and in messages with a schema: flat, under the whole path as "
        "one name, or keep, inside objects",
    )
    privacy: Privacy | None = Field(default=None, description="what is promised, such as {k: 50}")
    window: Window | None = Field(
        default=None, description="how long a tuple may be held, such as {count: 2000} or {time: 30s}"
    )
    weights: dict[Name, Weight] = Field(
        default={}, description="how much each quasi-identifier counts in losses and distances, such as {age: 2}; default 1"
    )
    suppressed: Suppressed = Field(
        default="blank",
        description="rows that found no group in time, all hidden in their quasi-identifiers: blank (other values are null "
        "too), publish (other values as they are), or drop (no row)",
    )
    sparse: Sparse = Field(
        default=SUPPRESS,
        description="a tuple that is due while fewer than k persons wait: suppress it, or let it wait longer, {stretch: 4}",
    )
    releases: Releases | None = Field(
        default=None, description="how many tuples of one person are published, such as {per_person: 20, per: 1d}"
    )
    lanes: Few = Field(default=1, description="parallel windows that share the stream, for several cores")
    algorithm: Algorithm = Field(
        default=DEFAULT, description="the algorithm and its parameters, such as {name: idea}", discriminator="name"
    )


@cache
def _adapter(name: str) -> TypeAdapter[Any]:
    """Reads a section. Each is built when it is first needed, and `PolicyFile` as a whole only for the schema."""
    field = PolicyFile.model_fields[name]
    written: Any = Annotated[field.annotation, field]
    return TypeAdapter(written)


def _validated(name: str, value: object, context: Mapping[str, Any]) -> Any:
    """A section, read by the class of its own; of an algorithm of another package, by the class that it registered."""
    if name == "algorithm" and (own := _outside(value)) is not None:
        return own.model_validate(value, context=context)
    return _adapter(name).validate_python(value, context=context)


def _outside(algorithm: object) -> type[BaseModel] | None:
    """The class that another package registered for an algorithm; None if the algorithm is built in, or unknown."""
    name = algorithm.get("name") if isinstance(algorithm, Mapping) else None
    return parameters_of(name) if isinstance(name, str) and name not in NAMES else None


def read_policy(written: object, folder: str | PathLike[str] | None) -> dict[str, Any]:
    """The sections of a policy, each of its own type, defaults included."""
    if not isinstance(written, Mapping):
        raise PolicyError(["the policy is not a mapping; write it as key: value pairs"])
    written = _with_algorithm(written)
    context = {"folder": None if folder is None else Path(folder)}
    found = [f"{key}: {unknown(key, PolicyFile.model_fields)}" for key in written if key not in PolicyFile.model_fields]
    sections: dict[str, Any] = {}
    filters = _is_filter(written)
    needed = NEEDED_TO_FILTER if filters else NEEDED
    for name, field in PolicyFile.model_fields.items():
        if name in written and not (written[name] is None and name in needed):
            try:
                sections[name] = _validated(name, written[name], context)
            except ValidationError as error:
                found.extend(_said(name, written[name], error))
            except PolicyError as error:  # of a package that registers an algorithm
                found.extend(error.problems)
        elif field.is_required() or name in needed:
            found.append(f"{name}: {missing(name, PolicyFile)}")
        else:
            sections[name] = field.default
    attributes = written.get("attributes")
    found.extend(conflicts(sections, attributes if isinstance(attributes, Mapping) else (), filters))
    if found:
        raise PolicyError(found)
    return sections


def _with_algorithm(written: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The same, with the default name if only the algorithm's parameters are written."""
    algorithm = written.get("algorithm")
    if isinstance(algorithm, Mapping) and "name" not in algorithm:
        return {**written, "algorithm": {"name": DEFAULT.name, **algorithm}}
    return written


def _is_filter(written: Mapping[Any, Any]) -> bool:
    algorithm = written.get("algorithm")
    return isinstance(algorithm, Mapping) and algorithm.get("name") == FILTER


def _said(section: str, value: Any, error: ValidationError) -> Iterator[str]:
    """What pydantic found wrong in a section."""
    is_outside = section == "algorithm" and _outside(value) is not None
    for place, text in problems(error, _owner, (section, value["name"]) if is_outside else (section,)):
        if text == "is not a mapping":
            text += "; write a role, such as {sensitive: true}"
        if place[0] == "algorithm" and len(place) > 2 and (is_outside or place[1] in NAMES):
            place = ("algorithm", *place[2:])
        elif place == ("algorithm", "name") and (others := outside_names()):
            text += f"; other packages add {', '.join(others)}"
        yield f"{dotted(tuple(step for step in place if step not in _NOT_SHOWN))}: {text}"


def _owner(place: Place) -> type[BaseModel]:
    """The model that the key at a place belongs to."""
    match place:
        case (_,):
            return PolicyFile
        case ("algorithm", _, "z", str(), "auto", _):
            return Auto
        case ("algorithm", _, "z", str(), _):
            return Tuned
        case ("algorithm", name, *_):
            return parameters_of(name) or PolicyFile
    return _NESTED.get(place[0], PolicyFile)


def json_schema() -> dict[str, Any]:
    """The JSON schema of a written policy, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **PolicyFile.model_json_schema()}


def schema_text() -> str:
    """The schema as it is published with the package, in policy.schema.json."""
    return json.dumps(json_schema(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
