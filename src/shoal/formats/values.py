"""Parsed JSON values as Arrow columns: typed where all agree, text where they do not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

import pyarrow as pa

from shoal.formats.dialects import dumps
from shoal.formats.numerals import EXACT
from shoal.formats.unicode import NOT_UTF8

TYPES = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


def kind(values: Iterable[Any]) -> pa.DataType | None:
    """The type that holds all values without loss, or None if only text does.

    >>> kind([1, None]), kind([1, 2.5]), kind([1, "1"]), kind([None])
    (DataType(int64), DataType(double), None, DataType(null))
    """
    values = [value for value in values if value is not None]
    found = set(map(type, values))
    if found == {int, float}:
        return pa.float64() if all(abs(v) < EXACT for v in values if type(v) is int) else None
    if len(found) > 1:
        return None
    for one in found:
        fits = one in TYPES and (one is not int or all(-(2**63) <= v < 2**63 for v in values))
        return TYPES[one] if fits else None
    return pa.null()


def text(value: Any) -> str | None:
    """The canonical text of a value: a whole number has no fraction, and what is not a number is missing.

    >>> text(True), text(1.0), text(1.5), text("x"), text([1, "é"]), text(float("nan"))
    ('true', '1', '1.5', 'x', '[1, "é"]', None)
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float):
        return None if isnan(value) else str(int(value)) if value.is_integer() else repr(value)
    return dumps(value)


def column(values: Sequence[Any]) -> pa.Array:
    """The values of a field that will be generalized or compared.

    >>> column([1, "a", None]).to_pylist()
    ['1', 'a', None]
    """
    one = kind(values)
    return pa.array(map(text, values), pa.string()) if one is None else pa.array(values, one)


def verbatim(values: Iterable[Any]) -> pa.Array:
    """The values of a field that is passed through, as JSON text.

    >>> verbatim(["a", 1.0, None, {"b": []}]).to_pylist()
    ['"a"', '1.0', None, '{"b": []}']
    """
    return pa.array([None if value is None else dumps(value) for value in values], pa.string())


def parse(line: bytes) -> dict[str, Any] | str:
    """The object on a line, or why there is none.

    >>> parse(b'{"a": 1}'), parse(b"[1]"), parse(b"{")
    ({'a': 1}, 'not a JSON object; give one a line', 'malformed JSON; give one object a line')
    """
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError:
        return NOT_UTF8
    except RecursionError:
        return "JSON nested too deeply; flatten it"
    except ValueError:
        return "malformed JSON; give one object a line"
    return value if isinstance(value, dict) else "not a JSON object; give one a line"


def is_unicode(value: Any) -> bool:
    """Whether a value can be written as UTF-8, which half a surrogate pair cannot.

    >>> is_unicode("é"), is_unicode(["\\ud800"])
    (True, False)
    """
    try:
        dumps(value).encode()
    except UnicodeEncodeError:
        return False
    return True
