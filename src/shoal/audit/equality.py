"""Whether what was passed through is what came in, across the types of several formats."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.audit.text import canonical
from shoal.audit.values import Flags, Ints, distinct

_WRITTEN = {text: text for text in ("Infinity", "-Infinity")}


def altered(before: pa.ChunkedArray, after: pa.ChunkedArray, rows: Ints) -> Flags:
    """Which values of `after` are not those of `before` at the same place of `rows`.

    >>> altered(pa.chunked_array([[1, 2, None]]), pa.chunked_array([["1", "3", ""]]), np.arange(3)).tolist()
    [False, True, False]

    An infinity is a text in JSON, and not missing.

    >>> infinite = pa.chunked_array([[float("inf")] * 2])
    >>> altered(infinite, pa.chunked_array([["Infinity", None]]), np.arange(2)).tolist()
    [False, True]
    """
    old_code, old = _whole(before)
    new_code, new = _whole(after)
    old_code = np.append(old_code, -1)[rows]
    same = np.append(_place(new, old), -1)[new_code] == old_code
    rest = np.flatnonzero(~same)
    pairs, place = np.unique(np.stack([old_code[rest], new_code[rest]], axis=1), axis=0, return_inverse=True)
    olds, news = old.take(pa.array(np.maximum(pairs[:, 0], 0))), new.take(pa.array(np.maximum(pairs[:, 1], 0)))
    equal = np.array(
        [
            _is_same(None if i < 0 else a, None if j < 0 else b)
            for (i, j), a, b in zip(pairs.tolist(), _values(olds, len(pairs)), _values(news, len(pairs)), strict=True)
        ],
        bool,
    )
    result = np.zeros(len(same), bool)
    if len(rest):
        result[rest] = ~equal[place.ravel()]
    return result


def same_counts(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Whether both hold the same values equally often, whatever their order; null and empty text are one.

    >>> same_counts(pa.chunked_array([[1.0, 2.5, None]]), pa.chunked_array([["", "1.0", "2.5"]]))
    True
    """
    old, new = joint(before, after)
    most = int(max(old.max(initial=0), new.max(initial=0))) + 1
    return np.array_equal(np.bincount(old, minlength=most), np.bincount(new, minlength=most))


def joint(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Ints, Ints]:
    """Numbers for the values of both, equal where the values are."""
    old_code, old = _whole(before)
    new_code, new = _whole(after)
    as_text = _text if old.type == new.type else _sense
    numbers: dict[str, int] = {"": 0}
    found = []
    for code, values in ((old_code, old), (new_code, new)):
        each = [numbers.setdefault(as_text(value), len(numbers)) for value in values.to_pylist()]
        found.append(np.array([*each, 0])[code])
    return found[0], found[1]


def _whole(column: pa.ChunkedArray) -> tuple[Ints, pa.Array]:
    """Codes of a whole column and its values, each of them once; one null where there is none."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.nulls(0)
    if pa.types.is_null(array.type):
        return np.full(len(array), -1), pa.nulls(1, pa.string())
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        array = array.cast(pa.timestamp("us", array.type.tz), safe=False)
    code, values = distinct(array)
    again = values.dictionary_encode()
    code = np.append(again.indices.to_numpy(zero_copy_only=False), -1)[code].astype(np.int64)
    values = again.dictionary
    return code, values if len(values) else pa.nulls(1, values.type)


def _place(new: pa.Array, old: pa.Array) -> Ints:
    """For each new value the place of the equal old one, -2 where none is plainly equal; -1 would be a null's."""
    if new.type != old.type:
        try:
            new, old = (pc.cast(values, pa.string()) for values in (new, old))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return np.full(len(new), -2)
    return pc.index_in(new, value_set=old).fill_null(-2).to_numpy().astype(np.int64)


def _values(values: pa.Array, count: int) -> list[Any]:
    return values.to_pylist() if count else []


def _is_same(a: Any, b: Any) -> bool:
    if isinstance(a, str) and isinstance(b, str):
        return a == b or bool(_unfolded(a) == _unfolded(b))
    if _is_missing(a) or _is_missing(b):
        return _is_missing(a) and _is_missing(b)
    return _is_equal(a, b) or _text(a) == _text(b) or _is_equal(_meaning(a), _meaning(b))


def _is_missing(value: Any) -> bool:
    return value in (None, "") or (isinstance(value, float) and math.isnan(value))


def _is_equal(a: Any, b: Any) -> bool:
    """Equal, where Python takes 1 and True for equal and they are not."""
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


def _unfolded(text: str) -> Any:
    """What a text says if it is the JSON of a text or a structure, where an absent field is a null; else the text.

    Of numbers that JSON has not, NaN is a null, and an infinity the text that JSON lines have in its place.

    >>> _unfolded('{"a": [Infinity, NaN], "b": NaN}') == _unfolded('{"a": ["Infinity", null]}')
    True
    """
    if text.startswith(('"', "[", "{")):
        with suppress(ValueError, RecursionError):
            return json.loads(text, object_pairs_hook=_there, parse_constant=_WRITTEN.get)
    return text


def _there(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: each for name, each in pairs if each is not None}


def _text(value: Any) -> str:
    if isinstance(value, str):
        value = _unfolded(value)
    with suppress(ValueError):
        return canonical(value) or ""
    return ""


def _sense(value: Any) -> str:
    """A text that is the same for the same value in every format."""
    return _text(_meaning(value))


def _meaning(value: Any) -> Any:
    """What a text says, where it says a number, a time or a structure; else the value."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC)
    if isinstance(value, str):
        with suppress(ValueError, RecursionError):
            structure = value.startswith(("[", "{"))
            return json.loads(value, parse_constant=_WRITTEN.get if structure else None)  # or a number, or a truth value
        with suppress(ValueError):
            return _meaning(datetime.fromisoformat(value))
    return value
