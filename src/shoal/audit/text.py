"""The judge's own rule of equality: persons and categories are one where their canonical texts are."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from unicodedata import normalize

_DIGITS = 4300  # the longest number that is written out


def canonical(value: object) -> str | None:
    """The trimmed NFC text of a value; None where it is missing.

    >>> [canonical(value) for value in (" café ", 7, 7.0, 2.5, True, b"x", None, float("nan"))]
    ['café', '7', '7', '2.5', 'true', 'x', None, None]

    Lists and objects are written as JSON with sorted keys. Fields without a value are left out.

    >>> canonical({"b": [7.0, None], "a": None})
    '{"b": [7, null]}'

    Raises ValueError if the value is not UTF-8, or too long or too deeply nested to be written out.
    """
    text = value if value is None or isinstance(value, str) else _text(value)
    return None if text is None else normalize("NFC", text).strip()


def _text(value: object) -> str | None:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, list | tuple | dict):
        try:
            return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True)
        except RecursionError:
            raise ValueError("nested too deeply") from None
    if isinstance(value, Decimal):
        return _decimal(value)
    found = _number(value)
    if found is None:
        return None
    return str(found).lower() if isinstance(found, bool) else str(found)


def _plain(value: object) -> object:
    """A nested value in which every whole number is an integer and NaN is None; fields without a value are left out."""
    if isinstance(value, dict):
        fields = ((str(name), _plain(each)) for name, each in value.items())
        return {name: each for name, each in fields if each is not None}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    found = _number(value)
    return found if found is None or isinstance(found, bool | int | float | str) else str(found)


def _number(value: object) -> object:
    """A float as an integer where it is whole, None where it is NaN; any other value as it is."""
    if not isinstance(value, float):
        return value
    return None if math.isnan(value) else int(value) if value.is_integer() else value


def _decimal(value: Decimal) -> str | None:
    if not value.is_finite():
        return None if value.is_nan() else str(float(value))
    if not value:
        return "0"
    if max(abs(value.adjusted()), len(value.as_tuple().digits)) > _DIGITS:
        raise ValueError("a number with too many digits")
    whole, _, part = format(value, "f").partition(".")
    part = part.rstrip("0")
    return f"{whole}.{part}" if part else whole
