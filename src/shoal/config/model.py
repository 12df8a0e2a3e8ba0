"""What every configuration file is made of: frozen models, and the scalars in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Annotated

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema
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
        raise refusal("is no duration; write it like 250ms, 30s, 5m, 2h, 1d, or as a number of seconds")
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
Few = Annotated[int, Field(ge=1, le=1024), BeforeValidator(whole)]
Limit = Annotated[int, Field(ge=0), BeforeValidator(whole)]
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
