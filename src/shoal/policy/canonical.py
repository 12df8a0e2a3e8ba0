"""The one definition of the text by which persons and categories are compared."""

from __future__ import annotations

import json
import math
import unicodedata
from decimal import Decimal
from typing import Any

import numpy as np

from shoal.text import plain_decimal, plain_number

LONGEST = 4300
TOO_LONG = "a number with too many digits (value withheld)"


def canonical(value: object) -> str | None:
    """Trimmed NFC text of a value; None where the value is missing.

    >>> [canonical(value) for value in (" café ", 1, 1.0, 2.5, True, b"x", None, float("nan"))]
    ['café', '1', '1', '2.5', 'true', 'x', None, None]

    A list or an object is one value however its numbers are written and its keys are ordered; a key without a value is none.

    >>> canonical([1.0, "x"]), canonical({"b": [], "a": 2, "c": None})
    ('[1, "x"]', '{"a": 2, "b": []}')

    Raises ValueError for bytes that are not UTF-8, a number too long to write out, or what is nested too deeply.
    """
    text = _text(value)
    return None if text is None else unicodedata.normalize("NFC", text).strip()


def _text(value: object) -> str | None:
    match value:
        case None:
            return None
        case str():
            return value
        case bool() | np.bool_():
            return "true" if value else "false"
        case int() | np.integer():
            return _integer(int(value))
        case float() | np.floating():
            return plain_number(float(value))
        case Decimal():
            return _decimal(value)
        case bytes() | bytearray() | memoryview():
            return _decoded(bytes(value))
        case list() | tuple() | dict():
            return _nested(value)
    return str(value)


def _integer(value: int) -> str:
    try:
        return str(value)
    except ValueError:
        raise ValueError(TOO_LONG) from None


def _decimal(value: Decimal) -> str | None:
    if not value.is_finite():
        return plain_number(float("nan") if value.is_nan() else float(value))
    if value and max(abs(value.adjusted()), len(value.as_tuple().digits)) > LONGEST:
        raise ValueError(TOO_LONG)
    return plain_decimal(value)


def _decoded(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("bytes that are not UTF-8 (value withheld)") from None


def _nested(value: object) -> str:
    try:
        held = json.loads(
            json.dumps(value, default=str),
            object_pairs_hook=lambda pairs: {name: each for name, each in pairs if each is not None},
            parse_float=_number,
            parse_constant=_number,
        )
        return json.dumps(held, ensure_ascii=False, sort_keys=True)
    except RecursionError:
        raise ValueError("nested too deeply (value withheld)") from None


def _number(text: str) -> Any:
    number = float(text)
    return None if math.isnan(number) else int(number) if number.is_integer() else number
