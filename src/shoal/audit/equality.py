"""Columns that are passed through: whether they are what came in, and values in a dictionary that are not shown."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.audit.textfiles import decimals, texts_of
from shoal.audit.values import Flags, Ints, canonical, distinct, is_number, is_text

NOTHING = 0  # the number of null and of empty text, see `joint`
_WRITTEN = {text: text for text in ("Infinity", "-Infinity")}


def altered(before: pa.ChunkedArray, after: pa.ChunkedArray, rows: Ints) -> Flags:
    """Which values of `after` are not those of `before` at the same place of `rows`.

    >>> altered(pa.chunked_array([[1, 2, None]]), pa.chunked_array([["1", "3", ""]]), np.arange(3)).tolist()
    [False, True, False]

    An infinity is a text in JSON, and not missing.

    >>> infinite = pa.chunked_array([[float("inf")] * 2])
    >>> altered(infinite, pa.chunked_array([["Infinity", None]]), np.arange(2)).tolist()
    [False, True]

    Bytes of a file with types are base64 in text.

    >>> raw = pa.chunked_array([[b"abc"]], pa.large_binary())
    >>> [altered(raw, pa.chunked_array([[text]]), np.arange(1)).tolist() for text in ("YWJj", "YWJk")]
    [[False], [True]]
    >>> altered(raw, pa.chunked_array([[b"abd"]], pa.large_binary()), np.arange(1)).tolist()
    [True]
    >>> no_text = [pa.chunked_array([[each]], pa.large_binary()) for each in (b"\\xff1", b"\\xff2")]
    >>> altered(no_text[0], no_text[1], np.arange(1)).tolist()
    [True]
    """
    old_code, old = _whole(before)
    new_code, new = _whole(after)
    is_raw = _is_raw(old.type, new.type)
    old_code = np.append(old_code, -1)[rows]
    same = np.append(_place(new, old), -1)[new_code] == old_code
    rest = np.flatnonzero(~same)
    pairs, place = np.unique(np.stack([old_code[rest], new_code[rest]], axis=1), axis=0, return_inverse=True)
    olds, news = old.take(pa.array(np.maximum(pairs[:, 0], 0))), new.take(pa.array(np.maximum(pairs[:, 1], 0)))
    equal = np.array(
        [
            _is_same(None if i < 0 else a, None if j < 0 else b)
            or (is_raw and i >= 0 and j >= 0 and _as_written(a) == _read(b))
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


def no_more(before: pa.ChunkedArray, after: pa.ChunkedArray) -> bool:
    """Whether `after` holds no value more often than `before`; null and empty text count for nothing.

    >>> no_more(pa.chunked_array([[1.0, 2.5, 2.5]]), pa.chunked_array([["", "", "2.5"]]))
    True
    """
    old, new = joint(before, after)
    most = int(max(old.max(initial=0), new.max(initial=0))) + 1
    less = np.bincount(new, minlength=most) <= np.bincount(old, minlength=most)
    return bool(np.delete(less, NOTHING).all())


def is_nothing(column: pa.ChunkedArray) -> Flags:
    """Which values are null, or empty text.

    >>> is_nothing(pa.chunked_array([["", "x", None]])).tolist()
    [True, False, True]
    """
    code, values = _whole(column)
    return np.append([_is_missing(value) for value in values.to_pylist()], True)[code].astype(bool)


def joint(before: pa.ChunkedArray, after: pa.ChunkedArray) -> tuple[Ints, Ints]:
    """Numbers for the values of both, equal where the values are; null and empty text are `NOTHING`."""
    old_code, old = _whole(before)
    new_code, new = _whole(after)
    numbers: dict[str, int] = {"": NOTHING}
    found = []
    for code, values, other in ((old_code, old, new), (new_code, new, old)):
        as_text = _text if values.type == other.type else _as_written if _is_raw(values.type, other.type) else _sense
        each = [numbers.setdefault(as_text(value), len(numbers)) for value in values.to_pylist()]
        found.append(np.array([*each, NOTHING])[code])
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


def _is_raw(kind: pa.DataType, other: pa.DataType) -> bool:
    """Whether values are bytes of a file with types, not text, and the others are not."""
    return bool(pa.types.is_large_binary(kind) and not pa.types.is_large_binary(other))


def _as_written(value: bytes | None) -> str:
    """Bytes as text formats hold them: in base64."""
    return b64encode(value or b"").decode()


def _read(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


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
    return _as_written(value) if isinstance(value, bytes) else ""


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


class Spare:
    """Looks through the dictionaries of a column, and of what is nested in it, block by block; `public` values may lie there.

    >>> spare = Spare(["Norway"])
    >>> spare.take(pa.DictionaryArray.from_arrays([0, 0], ["France", "Norway", "Jane"]))
    >>> spare.count()
    1
    """

    def __init__(self, public: Iterable[str]) -> None:
        self._held: set[Any] = set()
        self._shown: set[Any] = set(public)

    def take(self, column: pa.Array) -> None:
        """Look at a block of the column."""
        if pa.types.is_struct(column.type):
            for inner in column.flatten():
                self.take(inner)
        elif pa.types.is_map(column.type):
            self.take(column.keys)
            self.take(column.items)
        elif pa.types.is_nested(column.type) and hasattr(column, "flatten"):
            self.take(column.flatten())
        elif pa.types.is_dictionary(column.type):
            used = np.zeros(len(column.dictionary), bool)
            used[pc.unique(column.indices).drop_null().to_numpy()] = True
            self._held.update(column.dictionary.filter(pa.array(~used)).drop_null().to_pylist())
            self._shown.update(column.dictionary.filter(pa.array(used)).to_pylist())

    def count(self) -> int:
        """How many values no row shows."""
        return len(self._held - self._shown)


class Passed:
    """Collects a column; of texts, if its type changes on the way."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._unused: set[Any] = set()
        self._nested = Spare(())

    def take(self, column: pa.Array) -> None:
        """Add a block of the column."""
        if pa.types.is_nested(column.type):
            self._nested.take(column)
        if pa.types.is_dictionary(column.type):
            used = pc.unique(column.indices).drop_null()
            if len(used) < len(column.dictionary):
                rest = np.delete(np.arange(len(column.dictionary)), used.to_numpy())
                self._unused.update(column.dictionary.take(pa.array(rest)).drop_null().to_pylist())
        if pa.types.is_dictionary(column.type) and not is_text(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column.type):
            column = _compact(column)
        self._parts.append(column)

    def done(self) -> pa.ChunkedArray:
        """The whole column."""
        kinds = {part.type for part in self._parts if not pa.types.is_null(part.type)}
        if not kinds:
            return pa.chunked_array(self._parts or [pa.nulls(0)])
        if len(kinds) == 1:
            kind = kinds.pop()
            parts = [part.cast(kind) if pa.types.is_null(part.type) else part for part in self._parts]
            whole = pa.chunked_array(parts)
            return whole.unify_dictionaries() if pa.types.is_dictionary(kind) else whole
        if all(is_number(kind) for kind in kinds):
            exact = decimals([value for part in self._parts for value in part.to_pylist()]) if _is_long(self._parts) else None
            if exact is not None:
                return pa.chunked_array([exact])
            return pa.chunked_array([part.cast(pa.float64(), safe=False) for part in self._parts])
        return pa.chunked_array([texts_of(part) for part in self._parts], pa.string())

    def spare(self, whole: pa.ChunkedArray) -> int:
        """How many values the dictionaries of the blocks hold that no row of the whole column shows."""
        if not self._unused:
            return self._nested.count()
        used: set[Any] = set()
        for chunk in whole.chunks:
            is_coded = pa.types.is_dictionary(chunk.type)
            values = chunk.dictionary.take(pc.unique(chunk.indices).drop_null()) if is_coded else pc.unique(chunk)
            used.update(values.to_pylist())
        return len({each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in self._unused} - used)


def _is_long(numbers: Iterable[pa.Array]) -> bool:
    """Whether some have more digits than a double holds."""
    return any(
        pa.types.is_decimal(part.type) or (pc.max(pc.abs(part.cast(pa.float64(), safe=False))).as_py() or 0) >= 2**53
        for part in numbers
    )


def _compact(column: pa.Array) -> pa.Array:
    """Texts as a dictionary of strings; as bytes where they are not UTF-8. Bytes of a file with types stay what they are."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary
    if pa.types.is_large_binary(values.type):
        return column
    try:
        values = values.cast(pa.string())
    except pa.ArrowInvalid:
        values = values.cast(pa.binary())
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), values)
