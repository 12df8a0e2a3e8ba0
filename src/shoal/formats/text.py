"""Published batches as text, without any Python a row.

The text of a cell is built once for each distinct value; Arrow gathers and joins. Neighbouring columns with few values
are joined value by value first, and so are columns that are dictionaries with the *same* indices: a batch whose
quasi-identifiers share one index, an entry for each cluster, is the fastest to write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from shoal.formats.block import is_json
from shoal.formats.dialects import Dialect, Jsonl, content, dumps
from shoal.formats.numerals import floats

PIECE = 16384
"""Rows joined at a time, so that the texts stay in the cache."""

Codes = npt.NDArray[np.int64]


@dataclass
class Plain:
    """A text for each row, between `left` and `right`."""

    texts: pa.Array
    left: str = ""
    right: str = ""


@dataclass
class Coded:
    """For each row the text of its code; a null code means the last text."""

    texts: pa.Array
    codes: pa.Array

    def piece(self, start: int, count: int) -> pa.Array:
        return self.texts.take(self.codes.slice(start, count).fill_null(len(self.texts) - 1))

    def numbers(self) -> Codes:
        return _numbers(self.codes.fill_null(len(self.texts) - 1))

    def followed(self, literal: str) -> Coded:
        return Coded(_joined(self.texts, literal), self.codes) if literal else self

    def preceded(self, literal: str) -> Coded:
        return Coded(_joined(literal, self.texts), self.codes) if literal else self


class Text:
    """Writes batches of one schema in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._dictionaries: dict[str, tuple[pa.Array, pa.Array]] = {}

    def pieces(self, batch: pa.RecordBatch) -> Iterator[memoryview]:
        """The text of a batch, some thousand rows at a time."""
        parts = self._parts(batch)
        for start in range(0, len(batch), PIECE):
            yield from _written(parts, start, min(PIECE, len(batch) - start))

    def _parts(self, batch: pa.RecordBatch) -> list[Any]:
        """What is joined to a row: literals, plain columns, and groups of coded ones."""
        parts: list[Any] = []
        literal = ""
        limit = len(batch) // 8
        for before, column, field in zip(
            self._dialect.before(batch.schema.names), batch.columns, batch.schema, strict=True
        ):
            cells = self._cells(column, field)
            literal += before
            if isinstance(cells, str):
                literal += cells
            elif isinstance(cells, Plain):
                _append(parts, literal + cells.left)
                parts.append(cells.texts)
                literal = cells.right
            else:
                cells = cells.preceded(literal)
                if parts and isinstance(parts[-1], Coded) and (merged := _merged(parts[-1], cells, limit)):
                    parts[-1] = merged
                else:
                    parts.append(cells)
                literal = ""
        literal += self._dialect.end
        if not parts:
            return [Coded(pa.array([literal]), pa.nulls(len(batch), pa.int32()))]
        _append(parts, literal)
        return parts

    def _cells(self, column: pa.Array, field: pa.Field) -> Plain | Coded | str:
        kind = column.type
        if pa.types.is_null(kind):
            return self._dialect.null
        if pa.types.is_dictionary(kind):
            return Coded(self._entries(column.dictionary, field), column.indices)
        if _is_struct_of(kind, "lo", "hi"):
            return self._intervals(column)
        if _is_struct_of(kind, "value", "of", "had"):
            return self._imputed(column, field)
        if pa.types.is_boolean(kind):
            return Coded(pa.array(["false", "true", self._dialect.null]), column.cast(pa.int8()))
        if _is_string(kind):
            return self._strings(column.cast(pa.string()), field)
        return Plain(self._nulls(self._texts(column, kind)))

    def _entries(self, dictionary: pa.Array, field: pa.Field) -> pa.Array:
        """The texts of a dictionary and, last, of null; kept, since the next batch often has the same one."""
        known = self._dictionaries.get(field.name)
        if known is None or not _is_same(known[0], dictionary):
            known = dictionary, pa.concat_arrays([self._whole(dictionary, field), pa.array([self._dialect.null])])
            self._dictionaries[field.name] = known
        return known[1]

    def _whole(self, column: pa.Array, field: pa.Field) -> pa.Array:
        """The text of each cell."""
        cells = self._cells(column, field)
        if isinstance(cells, str):
            return pa.array([cells] * len(column), pa.string())
        if isinstance(cells, Plain):
            return _joined(cells.left, cells.texts, cells.right)
        return cells.piece(0, len(column))

    def _imputed(self, column: pa.Array, field: pa.Field) -> Plain:
        """A value, or where its group was imputed a JSON object: the value, of how many, and how many had one."""
        value, size, had = column.flatten()
        inner = Text(Jsonl())._whole(value, field)
        objects = _joined('{"value": ', inner, ', "of": ', size.cast(pa.string()), ', "had": ', had.cast(pa.string()), "}")
        objects = self._dialect.json(objects.fill_null("null"))
        return Plain(pc.if_else(size.is_valid(), objects, self._whole(value, field)))

    def _strings(self, column: pa.Array, field: pa.Field) -> Plain:
        quote = "" if is_json(field) else self._dialect.quote
        filled = column.fill_null("") if column.null_count else column
        texts = self._dialect.json(filled) if is_json(field) else self._dialect.escaped(filled)
        if not column.null_count:
            return Plain(texts, quote, quote)
        quoted = _joined(quote, texts, quote) if quote else texts
        return Plain(pc.if_else(column.is_valid(), quoted, self._dialect.null))

    def _texts(self, column: pa.Array, kind: pa.DataType) -> pa.Array:
        if pa.types.is_integer(kind):
            return column.cast(pa.string())
        if pa.types.is_floating(kind):
            numbers = column.cast(pa.float64())
            return floats(pc.if_else(pc.is_nan(numbers), None, numbers))
        if pa.types.is_decimal(kind):
            return column.cast(pa.string())
        if _is_moment(kind):
            return _joined(self._dialect.quote, _iso(column), self._dialect.quote)
        texts = pa.array([None if v is None else dumps(v) for v in column.to_pylist()], pa.string())
        return pc.if_else(texts.is_valid(), self._dialect.json(texts.fill_null("")), None)

    def _nulls(self, texts: pa.Array) -> pa.Array:
        return texts.fill_null(self._dialect.null) if texts.null_count else texts

    def _intervals(self, column: pa.Array) -> Coded:
        """Each distinct pair of ends is written once."""
        codes, lows, highs = _pairs(*column.flatten())
        left, right = self._dialect.interval
        texts = _joined(left, self._ends(lows), ", ", self._ends(highs), right)
        return Coded(pa.concat_arrays([texts, pa.array([self._dialect.null])]), codes)

    def _ends(self, values: pa.Array) -> pa.Array:
        """Numbers without a needless fraction, or moments."""
        if pa.types.is_floating(values.type):
            return floats(values, whole="")
        if pa.types.is_integer(values.type):
            return values.cast(pa.string())
        return _joined(self._dialect.quote, _iso(values), self._dialect.quote)


def _is_moment(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_time(kind))


def _iso(moments: pa.Array) -> pa.Array:
    """ISO 8601.

    >>> _iso(pa.array([0], pa.timestamp("s", "UTC"))).to_pylist()
    ['1970-01-01T00:00:00Z']
    """
    return pc.replace_substring(moments.cast(pa.string()), " ", "T")


def _is_string(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind)) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)


def _is_struct_of(kind: pa.DataType, *names: str) -> bool:
    return bool(pa.types.is_struct(kind)) and tuple(kind.field(i).name for i in range(kind.num_fields)) == names


def _is_same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays are the same memory."""
    return one.type == other.type and len(one) == len(other) and _place(one) == _place(other)


def _place(array: pa.Array) -> tuple[int, ...]:
    return (array.offset, *(buffer.address if buffer else 0 for buffer in array.buffers()))


def _pairs(lo: pa.Array, hi: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """A code for each row, null where an end is, and the two ends that each code stands for.

    >>> _pairs(pa.array([1, 5, 1]), pa.array([2, 6, 2]))[0].to_pylist()
    [0, 1, 0]
    """
    if _fits(lo) and _fits(hi):
        packed = pc.bit_wise_or(pc.shift_left(lo, 32), pc.bit_wise_and(hi, 2**32 - 1)).dictionary_encode()
        ends = packed.dictionary
        return packed.indices, pc.shift_right(ends, 32), pc.shift_right(pc.shift_left(ends, 32), 32)
    lows, highs = lo.dictionary_encode(), hi.dictionary_encode()
    width = max(len(highs.dictionary), 1)
    pairs = pc.add(pc.multiply(lows.indices.cast(pa.int64()), width), highs.indices.cast(pa.int64()))
    distinct = pairs.dictionary_encode()
    low, high = np.divmod(_numbers(distinct.dictionary), width)
    return distinct.indices, lows.dictionary.take(pa.array(low)), highs.dictionary.take(pa.array(high))


def _fits(ends: pa.Array) -> bool:
    """Whether all are integers of 32 bits."""
    if not pa.types.is_int64(ends.type):
        return False
    extremes = pc.min_max(ends).as_py()
    return extremes["min"] is None or -(2**31) <= extremes["min"] <= extremes["max"] < 2**31


def _numbers(array: pa.Array) -> Codes:
    numbers: Codes = array.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return numbers


def _joined(*texts: Any) -> pa.Array:
    return pc.binary_join_element_wise(*texts, "")


def _written(parts: list[Any], start: int, count: int) -> Iterator[memoryview]:
    """The text of some rows, in one piece unless that were longer than an array can be."""
    try:
        arrays = [_piece(part, start, count) for part in parts]
        whole = content(_joined(*arrays) if len(arrays) > 1 else arrays[0])
    except (pa.ArrowInvalid, pa.ArrowCapacityError):
        if count == 1:
            raise
        yield from _written(parts, start, count // 2)
        yield from _written(parts, start + count // 2, count - count // 2)
    else:
        yield whole


def _piece(part: Any, start: int, count: int) -> Any:
    if isinstance(part, Coded):
        return part.piece(start, count)
    return part if isinstance(part, str) else part.slice(start, count)


def _append(parts: list[Any], literal: str) -> None:
    if parts and isinstance(parts[-1], Coded):
        parts[-1] = parts[-1].followed(literal)
    elif literal:
        parts.append(literal)


def _merged(left: Coded, right: Coded, limit: int) -> Coded | None:
    """Two coded parts as one, if their texts can be joined before the rows are."""
    if _is_same(left.codes, right.codes) and len(left.texts) == len(right.texts):
        return Coded(_joined(left.texts, right.texts), left.codes)
    count = len(left.texts) * len(right.texts)
    if count > limit:
        return None
    high, low = np.divmod(np.arange(count), len(right.texts))
    texts = _joined(left.texts.take(pa.array(high)), right.texts.take(pa.array(low)))
    return Coded(texts, pa.array(left.numbers() * len(right.texts) + right.numbers()))


def lines(batch: pa.RecordBatch) -> bytes:
    r"""A batch as JSON lines.

    >>> lines(pa.record_batch({"row": [0, 1], "how": ["cluster", None], "released": [2.5, 3.0]}))
    b'{"row": 0, "how": "cluster", "released": 2.5}\n{"row": 1, "how": null, "released": 3.0}\n'
    """
    return b"".join(Text(Jsonl()).pieces(batch))
