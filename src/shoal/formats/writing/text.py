"""Published batches as text, without Python code per row.

The text of a cell, with the key or comma before it, is built once for each distinct value. A compiled loop then copies the
texts of the cells, row by row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.column_types import (
    BLURRED_INTERVAL,
    ENDS,
    IMPUTED,
    doubt,
    is_blurred_label,
    is_json,
    is_nested,
    is_set,
    is_struct_of,
)
from shoal.formats.json_values import dumps, float_texts
from shoal.formats.writing.cells import ROOM, Cells, Codes, chosen, length, lists, pairs, write
from shoal.formats.writing.dialects import Csv, Dialect, Jsonl, joined, nested_befores, standard, together

PIECE = 4096  # rows written at a time, so that their text stays in the cache


class Text:
    """Writes batches of one schema in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._dictionaries: dict[str, tuple[pa.Array, pa.Array]] = {}
        self._room = np.empty(0, np.uint8)
        self._end = dialect.end

    def pieces(self, batch: pa.RecordBatch) -> Iterator[memoryview]:
        """The text of a batch, some thousand rows at a time; each piece is valid until the next one."""
        try:
            texts, codes = self._coded(batch)
        except (pa.ArrowInvalid, pa.ArrowCapacityError):  # a column's text is longer than an array can be
            if len(batch) < 2:
                raise
            half = len(batch) // 2
            yield from self.pieces(batch.slice(0, half))
            yield from self.pieces(batch.slice(half))
            return
        _, ends, data = texts.buffers()
        places, letters = np.frombuffer(ends, np.int64), np.frombuffer(data, np.uint8)
        for start in range(0, len(batch), PIECE):
            some = codes[:, start : start + PIECE]
            size = length(some, places)
            if len(self._room) < size + ROOM:
                self._room = np.empty(size + size // 8 + ROOM, np.uint8)
            write(some, places, letters, self._room)
            yield memoryview(self._room.data)[:size]

    def _coded(self, batch: pa.RecordBatch) -> tuple[pa.Array, Codes]:
        """The texts of all columns, and the index of each cell's text, one row per column.

        The last text is never used: it lets `copy` read past the end of the one before it.
        """
        if is_nested(batch.schema) and self._dialect.nests:
            names = together(batch.schema.names)
            befores, self._end = nested_befores(names)
            batch = batch.select(names)
        else:
            befores, self._end = self._dialect.before(batch.schema.names), self._dialect.end
        codes = np.empty((batch.num_columns + 1, len(batch)), np.int32)
        texts, count = [], 0
        for i, (before, column, field) in enumerate(zip(befores, batch.columns, batch.schema, strict=True)):
            cells = self._cells(column, field)
            texts.append(joined(before, cells.texts) if before else cells.texts)
            np.add(cells.codes, count, out=codes[i])
            count += len(cells.texts)
        codes[-1] = count
        texts.append(pa.array([self._end, " " * ROOM]))
        return pa.concat_arrays([text.cast(pa.large_string()) for text in texts]), codes

    def _cells(self, column: pa.Array, field: pa.Field) -> Cells:
        kind = column.type
        if pa.types.is_null(kind):
            return Cells(pa.array([self._dialect.null]), np.zeros(len(column), np.int32))
        if pa.types.is_dictionary(kind):
            return _chosen(self._entries(column.dictionary, field), column.indices)
        if _is_interval(kind):
            return self._intervals(column)
        if is_blurred_label(kind):
            return self._blurred_labels(column, field)
        if is_set(kind):
            return self._sets(column)
        if pa.types.is_boolean(kind):
            return _chosen(pa.array(["false", "true", self._dialect.null]), column.cast(pa.int8()))
        return Cells(self._texts(column, field), np.arange(len(column), dtype=np.int32))

    def _entries(self, dictionary: pa.Array, field: pa.Field) -> pa.Array:
        """The texts of a dictionary, then of null, then of its labels in doubt if the column has such.

        They are kept, since the next batch often has the same dictionary.
        """
        known = self._dictionaries.get(field.name)
        if known is None or not _is_same(known[0], dictionary):
            texts = [self._whole(dictionary, field), pa.array([self._dialect.null])]
            if is_blurred_label(field.type):
                texts.append(self._dialect.in_doubt(dictionary))
            known = self._dictionaries[field.name] = dictionary, pa.concat_arrays(texts)
        return known[1]

    def _whole(self, column: pa.Array, field: pa.Field) -> pa.Array:
        """The text of each cell."""
        texts, codes = self._cells(column, field)
        return texts.take(pa.array(codes))

    def _imputed(self, column: pa.Array, field: pa.Field) -> pa.Array:
        """A value, or where its group was imputed a JSON object: the value, of how many, and how many had one."""
        value, size, had = column.flatten()
        inner = Text(Jsonl())._whole(value, field)
        objects = joined('{"value": ', inner, ', "of": ', size.cast(pa.string()), ', "had": ', had.cast(pa.string()), "}")
        objects = self._dialect.json(objects.fill_null("null"))
        return pc.if_else(size.is_valid(), objects, self._whole(value, field))

    def _strings(self, column: pa.Array, field: pa.Field) -> pa.Array:
        quote = "" if is_json(field) else self._dialect.quote
        column = standard(column) if is_json(field) else column
        filled = column.fill_null("") if column.null_count else column
        texts = self._dialect.json(filled) if is_json(field) else self._dialect.escaped(filled)
        quoted = joined(quote, texts, quote) if quote else texts
        return pc.if_else(column.is_valid(), quoted, self._dialect.null) if column.null_count else quoted

    def _texts(self, column: pa.Array, field: pa.Field) -> pa.Array:
        kind = column.type
        if is_struct_of(kind, IMPUTED):
            return self._imputed(column, field)
        if _is_string(kind):
            return self._strings(column.cast(pa.string()), field)
        texts = self._values(column)
        return texts.fill_null(self._dialect.null) if texts.null_count else texts

    def _values(self, column: pa.Array) -> pa.Array:
        """Texts of anything else, null where the value is."""
        kind = column.type
        if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
            return column.cast(pa.string())
        if pa.types.is_floating(kind):
            return self._floats(column.cast(pa.float64()))
        if _is_moment(kind):
            return joined(self._dialect.quote, _iso(column), self._dialect.quote)
        texts = standard(pa.array([None if v is None else dumps(v) for v in column.to_pylist()], pa.string()))
        return pc.if_else(texts.is_valid(), self._dialect.json(texts.fill_null("")), None)

    def _floats(self, numbers: pa.Array) -> pa.Array:
        """NaN is missing; infinities are texts, as JSON has no such numbers."""
        texts, infinite = float_texts(pc.if_else(pc.is_nan(numbers), None, numbers)), pc.is_inf(numbers)
        quote = self._dialect.quote
        return pc.if_else(infinite, joined(quote, texts, quote), texts) if pc.any(infinite).as_py() else texts

    def _intervals(self, column: pa.Array) -> Cells:
        """Each distinct pair of ends is written once, or twice if it is also in doubt."""
        codes, firsts = pairs(column)
        left, right, in_doubt = self._dialect.interval
        lo, hi = (self._ends(column.field(i).take(firsts)) for i in range(2))
        if column.type.num_fields > 2:
            right = pc.if_else(doubt(column).take(firsts), in_doubt, right)
        return Cells(pa.concat_arrays([pa.array([self._dialect.null]), joined(left, lo, ", ", hi, right)]), codes)

    def _blurred_labels(self, column: pa.Array, field: pa.Field) -> Cells:
        """The texts are those of the labels, of null, and of the labels in doubt."""
        value = column.flatten()[0]
        size = len(value.dictionary)
        codes = chosen(value.indices, size) + doubt(column).to_numpy(zero_copy_only=False) * np.int32(size + 1)
        return Cells(self._entries(value.dictionary, field), codes)

    def _sets(self, column: pa.Array) -> Cells:
        """Each set is written once for all rows in succession that show it."""
        codes, firsts = lists(column)
        return Cells(pa.concat_arrays([pa.array([self._dialect.null]), self._dialect.sets(column.take(firsts))]), codes)

    def _ends(self, values: pa.Array) -> pa.Array:
        """Numbers without a needless fraction, or moments."""
        if pa.types.is_floating(values.type):
            return float_texts(pc.if_else(pc.is_finite(values), values, None), whole="").fill_null("null")
        if pa.types.is_integer(values.type):
            return values.cast(pa.string())
        return joined(self._dialect.quote, _iso(values), self._dialect.quote)


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


def _is_interval(kind: pa.DataType) -> bool:
    """Whether a column holds intervals: unlike those of a struct that is passed through, their ends are never null."""
    if not (is_struct_of(kind, ENDS) or is_struct_of(kind, BLURRED_INTERVAL)) or kind.field(0).nullable:
        return False
    ends = kind.field(0).type
    simple = pa.types.is_integer(ends) or pa.types.is_floating(ends) or _is_moment(ends) or _is_string(ends)
    return simple and kind.field(1).type == ends


def _is_same(one: pa.Array, other: pa.Array) -> bool:
    """Whether two arrays are the same memory."""
    return one.type == other.type and len(one) == len(other) and _place(one) == _place(other)


def _place(array: pa.Array) -> tuple[int, ...]:
    return (array.offset, *(buffer.address if buffer else 0 for buffer in array.buffers()))


def _chosen(texts: pa.Array, indices: pa.Array) -> Cells:
    """Cells by the indices of their texts; the last text is that of null."""
    return Cells(texts, chosen(indices, len(texts) - 1))


class TextEncoder:
    r"""Batches of one schema as text.

    >>> batch = pa.record_batch({"a": [1, None], "b": ["x", "y"]})
    >>> csv = TextEncoder("csv")
    >>> csv.header(batch), [bytes(piece) for piece in csv.pieces(batch)]
    (b'a,b\n', [b'1,x\n,y\n'])
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._text: Text | None = None

    def header(self, batch: pa.RecordBatch) -> bytes:
        """What stands before the first record."""
        return Csv(batch.num_columns).header(batch.schema.names).encode() if self._kind == "csv" else b""

    def pieces(self, batch: pa.RecordBatch) -> Iterator[memoryview]:
        """The text of a batch in pieces; each is valid until the next one."""
        if self._text is None:
            self._text = Text(Csv(batch.num_columns) if self._kind == "csv" else Jsonl())
        return self._text.pieces(batch)


def lines(batch: pa.RecordBatch) -> bytes:
    r"""A batch as JSON lines.

    >>> lines(pa.record_batch({"row": [0, 1], "how": ["cluster", None], "released": [2.5, 3.0]}))
    b'{"row": 0, "how": "cluster", "released": 2.5}\n{"row": 1, "how": null, "released": 3.0}\n'
    """
    return b"".join(map(bytes, Text(Jsonl()).pieces(batch)))
