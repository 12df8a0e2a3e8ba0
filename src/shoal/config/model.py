"""What every configuration file is made of, frozen models and the scalars in them; and what is wrong with one, in one tone."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError

REFUSED = "refused"
LARGEST = 2**31 - 1
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(ms|s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class FrozenModel(BaseModel):
    """A frozen piece of a configuration file; a key that it does not have is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def refusal(*problems: str | tuple[str, str]) -> PydanticCustomError:
    """The error that a validator raises: texts, or pairs of a key below the place and a text."""
    return PydanticCustomError(REFUSED, "refused", {"problems": tuple(_pairs(problems))})


def _pairs(problems: Iterable[str | tuple[str, str]]) -> Iterable[tuple[str, str]]:
    for problem in problems:
        yield ("", problem) if isinstance(problem, str) else problem


class Seconds(float):
    """A number that was written with a unit of time."""


def number(value: object) -> float:
    """A finite number; neither a truth value nor text."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise refusal("is not a number; write one, without quotes")
    try:
        result = float(value)
    except OverflowError:
        result = math.inf
    if not math.isfinite(result):
        raise refusal("is not finite; give a finite number")
    return result


def whole(value: object) -> int:
    """A whole number; 50.0 is one, 50.5 and true are not."""
    result = number(value)
    if not result.is_integer():
        raise refusal("is not a whole number; round it")
    if abs(result) > LARGEST:
        raise refusal(f"is beyond {LARGEST}; use a smaller number")
    return int(result)


def flag(value: object) -> bool:
    """True or false, and nothing that merely looks like it."""
    if not isinstance(value, bool | np.bool_):
        raise refusal("is neither true nor false; write one of them, without quotes")
    return bool(value)


def name(value: object) -> str:
    """The name of a field."""
    if value is None:
        raise refusal("is empty; name a field")
    if not isinstance(value, str):
        raise refusal("is not text; quote it")
    if not value.strip():
        raise refusal("is empty; name a field")
    return value


def span(value: object) -> float:
    """A number from 0, or a duration, which becomes `Seconds`.

    >>> [span(text) for text in ("250ms", "30s", "5m", "2h", "1d", 1.5)]
    [0.25, 30.0, 300.0, 7200.0, 86400.0, 1.5]
    """
    if not isinstance(value, str):
        result = number(value)
        if result < 0:
            raise refusal("is below 0; use at least 0")
        return result
    written = _DURATION.fullmatch(value.strip())
    if written is None:
        raise refusal("is not a duration; write it like 250ms, 30s, 5m, 2h, 1d, or as a number of seconds")
    amount, unit = float(written[1]), written[2]
    result = amount / 1000 if unit == "ms" else amount * _SECONDS[unit]
    if not math.isfinite(result):
        raise refusal("is not finite; give a finite number")
    return Seconds(result)


Amount = Annotated[float, Field(ge=0), BeforeValidator(number)]
Positive = Annotated[float, Field(gt=0), BeforeValidator(number)]
Closeness = Annotated[float, Field(gt=0, le=1), BeforeValidator(number)]
Share = Annotated[float, Field(ge=0, le=1), BeforeValidator(number)]
Weight = Annotated[float, Field(ge=0.001, le=1000), BeforeValidator(number)]
Count = Annotated[int, Field(ge=1), BeforeValidator(whole)]
Several = Annotated[int, Field(ge=2), BeforeValidator(whole)]
Few = Annotated[int, Field(ge=1, le=1024), BeforeValidator(whole)]
Limit = Annotated[int, Field(ge=0), BeforeValidator(whole)]
Flag = Annotated[bool, BeforeValidator(flag)]
Name = Annotated[str, Field(min_length=1), BeforeValidator(name)]
Span = Annotated[
    float,
    PlainValidator(span),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "pattern": r"^\s*[0-9]+(\.[0-9]+)? ?(ms|s|m|h|d)\s*$"},
            ]
        }
    ),
]


Place = tuple[Any, ...]

_TEXTS = {
    "literal_error": "is not allowed; use {expected}",
    "greater_than": "is not above {gt:g}; use more than {gt:g}",
    "greater_than_equal": "is below {ge:g}; use at least {ge:g}",
    "less_than_equal": "is above {le:g}; use at most {le:g}",
}
_MAPPINGS = ("dict_type", "model_type", "model_attributes_type")


def problems(error: ValidationError, owner: Callable[[Place], type[BaseModel]], at: Place = ()) -> Iterator[tuple[Place, str]]:
    """What pydantic found wrong below a place, in our words; `owner` gives the model that the key at a place belongs to."""
    for details in error.errors(include_url=False):
        place, kind, context = (*at, *details["loc"]), details["type"], details.get("ctx", {})
        if kind == REFUSED:
            yield from (((*place, key) if key else place, text) for key, text in context["problems"])
        elif kind in ("extra_forbidden", "invalid_key"):
            yield place, unknown(place[-1], keys(owner(place)))
        elif kind == "missing":
            yield place, missing(place[-1], owner(place))
        elif kind == "union_tag_invalid":
            known = tuple(tag.strip(" '") for tag in context["expected_tags"].split(","))
            yield (*place, "name"), f"{context['tag']!r} is no {place[-1]}; {nearest(context['tag'], known, listed=True)}"
        elif kind in _TEXTS:
            yield place, _TEXTS[kind].format(**context)
        else:
            field = owner(place).model_fields.get(place[-1]) if place else None
            example = f"; write {field.description}" if field and field.description else ""
            yield place, ("is not a mapping" if kind in _MAPPINGS else _lowered(details["msg"])) + example


def keys(model: type[BaseModel]) -> Iterator[str]:
    """The keys of a model as they are written."""
    return (field.alias or name for name, field in model.model_fields.items())


def unknown(key: object, known: Iterable[str]) -> str:
    """The problem of a key that does not exist, with the nearest that does.

    >>> unknown("rnage", ["quasi", "range"])
    "unknown key; did you mean 'range'?"
    """
    return f"unknown key; {nearest(str(key), tuple(known))}"


def missing(key: Any, model: type[BaseModel]) -> str:
    """The problem of a required key that is absent."""
    return f"is missing; add {model.model_fields[key].description}"


def nearest(word: str, known: tuple[str, ...], listed: bool = False) -> str:
    """The known word that is most like this one, or all of them; both if `listed`."""
    near = [f"did you mean {match!r}?" for match in get_close_matches(word.lower(), known, n=1)]
    return "; ".join([f"known are {', '.join(known)}", *near] if listed or not near else near)


def dotted(place: Place) -> str:
    """
    >>> dotted(("attributes", "age", "range"))
    'attributes.age.range'
    """
    return ".".join(str(step) or "''" for step in place)


def nested_owner(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The model inside a model that holds the key at a place."""
    for step in place[:-1]:
        field = model.model_fields.get(str(step))
        kinds = [field.annotation, *getattr(field.annotation, "__args__", ())] if field else []
        model = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), model)
    return model


def _lowered(message: str) -> str:
    return message[:1].lower() + message[1:]
