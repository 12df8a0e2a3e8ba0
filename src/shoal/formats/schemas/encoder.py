"""Published batches as single records in Avro, Protobuf or JSON.

As with text, each distinct cell is encoded once, and a compiled loop copies the bytes of the cells, row by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.formats.schemas import avro, json_schema, protobuf
from shoal.formats.schemas.values import distinct
from shoal.formats.writing.cells import ROOM, length, write
from shoal.formats.writing.text import lines
from shoal.shapes import Field, Shape


class RecordEncoder(ABC):
    """Encodes tuples of one shape."""

    schema: str  # the text of the schema
    kind: str  # AVRO, PROTOBUF or JSON, as a registry calls it

    @abstractmethod
    def records(self, batch: pa.RecordBatch) -> list[bytes]:
        """Each tuple of a batch."""


def record_encoder(form: str, shape: Shape) -> RecordEncoder:
    """The encoder of a form: avro, protobuf or json-schema."""
    if form == "json-schema":
        return _Json(shape)
    return _Avro(shape) if form == "avro" else _Protobuf(shape)


class _Json(RecordEncoder):
    kind = "JSON"

    def __init__(self, shape: Shape) -> None:
        self.schema = json_schema.text(shape)

    def records(self, batch: pa.RecordBatch) -> list[bytes]:
        return lines(batch).split(b"\n")[:-1]


class _Cells(Protocol):
    def encoded(self, value: Any) -> bytes: ...


class _Avro(RecordEncoder):
    kind = "AVRO"

    def __init__(self, shape: Shape) -> None:
        self.schema = avro.text(shape)
        self._cells = [(field, avro.AvroCells(field, shape.imputes)) for field in shape.fields]

    def records(self, batch: pa.RecordBatch) -> list[bytes]:
        return _copied([_coded(batch, field, cells) for field, cells in self._cells], len(batch))


class _Protobuf(RecordEncoder):
    kind = "PROTOBUF"

    def __init__(self, shape: Shape) -> None:
        self.schema = protobuf.text(shape)
        self._shape = shape

    def records(self, batch: pa.RecordBatch) -> list[bytes]:
        return self._inside(batch, self._shape.fields, 0)

    def _inside(self, batch: pa.RecordBatch, fields: Sequence[Field], depth: int) -> list[bytes]:
        """The message at one depth of the paths of each row."""
        parts = []
        for group, _, number in protobuf.members(fields, depth):
            if group.inner:
                inner = [protobuf.prefixed(body, number) for body in self._inside(batch, group.inner, depth + 1)]
                parts.append((inner, np.arange(len(batch), dtype=np.int32)))
            else:
                parts.append(_coded(batch, group.field, protobuf.ProtobufCells(group.field, number)))
        return _copied(parts, len(batch))


Coded = tuple[list[bytes], NDArray[np.int32]]


def _coded(batch: pa.RecordBatch, field: Field, cells: _Cells) -> Coded:
    index = batch.schema.get_field_index(field.name)
    values, codes = distinct(batch.column(index), batch.schema.field(index), field.kind)
    return [cells.encoded(value) for value in values], codes


def _copied(columns: Sequence[Coded], rows: int) -> list[bytes]:
    """The bytes of each row: those of its cells, one after the other."""
    if not rows:
        return []
    codes = np.empty((len(columns), rows), np.int32)
    texts: list[bytes] = []
    for i, (cells, places) in enumerate(columns):
        np.add(places, len(texts), out=codes[i])
        texts += cells
    _, ends, data = pa.array([*texts, bytes(ROOM)], pa.large_binary()).buffers()
    places, letters = np.frombuffer(ends, np.int64), np.frombuffer(data, np.uint8)
    out = np.empty(length(codes, places) + ROOM, np.uint8)
    write(codes, places, letters, out)
    until = np.cumsum(np.diff(places)[codes].sum(axis=0)).tolist()
    whole = out.tobytes()
    return [whole[start:end] for start, end in zip([0, *until[:-1]], until, strict=True)]
