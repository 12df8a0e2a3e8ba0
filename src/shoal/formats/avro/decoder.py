"""Records in Avro's binary encoding as Arrow columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.formats.avro.loop import ROOM, decode, gather
from shoal.formats.avro.program import DEEP, Slot, program
from shoal.formats.json_values import float_texts
from shoal.formats.reading.utf8 import valid


class Decoder:
    """Reads some fields of records that were written with one schema. Raises `Unsuited` for what the loop cannot read.

    >>> found = Decoder({"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]}, ["a"])
    >>> columns, good = found.columns([bytes([4]), bytes([5]), b""])
    >>> columns[0].to_pylist(), good
    ([2, -3, None], array([ True,  True, False]))
    """

    def __init__(self, schema: Any, fields: Sequence[str]) -> None:
        self._program = program(schema, fields)
        self._fields = fields
        self._left = np.zeros(DEEP, np.int64)

    @property
    def found(self) -> dict[str, pa.DataType]:
        """The types of the fields that the schema has."""
        return {name: _kind(slots) for name, slots in self._program.fields.items() if slots}

    def columns(self, records: Sequence[bytes]) -> tuple[list[pa.Array], NDArray[np.bool_]]:
        """The columns of single records, and which of them could be read. Text must be UTF-8."""
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        ends = np.cumsum(sizes)
        data = np.frombuffer(b"".join((*records, bytes(ROOM))), np.uint8)
        columns, good = self._decoded(data, ends - sizes, ends)
        readable = valid(columns)
        return columns, good if readable is None else good & readable

    def block(self, data: memoryview, count: int) -> tuple[list[pa.Array], NDArray[np.bool_]]:
        """The columns of so many records, one after the other."""
        starts, ends = np.full(count, -1, np.int64), np.full(count, len(data), np.int64)
        starts[:1] = 0
        return self._decoded(np.frombuffer(b"".join((data, bytes(ROOM))), np.uint8), starts, ends)

    def _decoded(
        self, data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
    ) -> tuple[list[pa.Array], NDArray[np.bool_]]:
        shape = (max(self._program.slots, 1), len(starts))
        values, sizes, there = np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.uint8)
        good = np.zeros(len(starts), np.uint8)
        decode(
            data, starts, ends, self._program.steps, self._program.jumps, values, sizes, there, good, self._left
        )  # fmt: skip
        there *= good
        columns = []
        for name in self._fields:
            slots = self._program.fields[name]
            parts = [_column(slot, data, values[slot.number], sizes[slot.number], there[slot.number]) for slot in slots]
            columns.append(_joined(parts, len(starts)))
        return columns, good.astype(bool)


def _kind(slots: Sequence[Slot]) -> pa.DataType:
    kind = slots[0].kind if len(slots) == 1 else pa.string()
    return pa.float64() if pa.types.is_float32(kind) else kind


def _joined(parts: list[pa.Array], rows: int) -> pa.Array:
    """The one branch of a union, or the values of all branches as text."""
    if len(parts) == 1:
        return parts[0]
    return pc.coalesce(*map(_text, parts)) if parts else pa.nulls(rows)


def _text(column: pa.Array) -> pa.Array:
    return float_texts(column, whole="") if pa.types.is_floating(column.type) else column.cast(pa.string())


def _column(
    slot: Slot, data: NDArray[np.uint8], values: NDArray[np.int64], sizes: NDArray[np.int64], there: NDArray[np.uint8]
) -> pa.Array:
    kind, absent = slot.kind, there == 0
    mask = absent if absent.any() else None
    if slot.symbols:
        return pa.array(slot.symbols, pa.string()).take(pa.array(np.where(absent, 0, values), mask=mask))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        offsets = np.empty(len(values) + 1, np.int32)
        total = int(sizes[~absent].sum()) if mask is not None else int(sizes.sum())
        out = np.empty(total + ROOM, np.uint8)
        gather(data, values, sizes, there, offsets, out)
        bits = None if mask is None else pa.array(~absent).buffers()[1]
        return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(offsets), pa.py_buffer(out[:total])])
    if pa.types.is_float32(kind):
        return pa.array(values.astype(np.uint32).view(np.float32).astype(np.float64), mask=mask)
    if pa.types.is_float64(kind):
        return pa.array(values.view(np.float64), mask=mask)
    if pa.types.is_boolean(kind):
        return pa.array(values.astype(bool), mask=mask)
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.array(values.astype(np.int32), mask=mask).cast(kind)
    return pa.array(values, mask=mask).cast(kind)
