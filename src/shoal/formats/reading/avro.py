"""Avro files, by fastavro, in the types of their own schema."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

import pyarrow as pa

from shoal.extras import needs
from shoal.formats.avro import Decoder, Unsuited
from shoal.formats.json_values import plain_text
from shoal.formats.reading.reader import Block, opened, slices
from shoal.formats.reading.tables import TableReader

_TYPES = {
    "null": pa.null(), "boolean": pa.bool_(), "int": pa.int64(), "long": pa.int64(), "float": pa.float64(),
    "double": pa.float64(), "bytes": pa.binary(), "string": pa.string(), "enum": pa.string(), "fixed": pa.binary(),
}  # fmt: skip
_LOGICAL = {
    "date": pa.date32(), "timestamp-millis": pa.timestamp("ms", "UTC"), "timestamp-micros": pa.timestamp("us", "UTC"),
    "local-timestamp-millis": pa.timestamp("ms"), "local-timestamp-micros": pa.timestamp("us"),
    "time-millis": pa.time32("ms"), "time-micros": pa.time64("us"), "uuid": None, "decimal": None,
}  # fmt: skip
_TEXT = None  # the type of values that are read as text


class AvroReader(TableReader):
    """Reads records block by block. A field that may have several types is read as text.

    A compiled loop reads the fields that it can; lists, maps and decimals are left to fastavro.
    """

    _format = "an Avro"

    def __init__(self, path: str, fields: Sequence[str] | None, rows: int) -> None:
        with needs("avro", path):
            import fastavro
        super().__init__(path, fields, rows)
        self._file = opened(path)
        self._total = os.path.getsize(path)
        try:
            self._stream = open(path, "rb")  # noqa: SIM115
            self._blocks = fastavro.block_reader(self._stream)
            written: Any = self._blocks.writer_schema
            self._types = {field["name"]: _type(field["type"], {}) for field in written["fields"]}
        except Exception:
            raise self._broken() from None
        self._learn(pa.schema([(name, kind or pa.string()) for name, kind in self._types.items()]))
        self._decoder: Decoder | None = None
        with suppress(Unsuited):
            self._decoder = Decoder(written, self._fields or ())

    def __iter__(self) -> Iterator[Block]:
        whole = self._decoded() if self._decoder and self._fields else self._listed()
        while True:
            try:
                batch = next(whole, None)
            except Exception:
                raise self._broken() from None
            if batch is None:
                break
            yield self._numbering.block(batch)
        self._done = self._total

    def _decoded(self) -> Iterator[pa.RecordBatch]:
        """The asked fields, by the compiled loop. The blocks of a file are small, so that some are taken together."""
        assert self._decoder and self._fields
        waiting: list[pa.RecordBatch] = []
        for block in self._blocks:
            columns, good = self._decoder.block(block.bytes_.getbuffer(), block.num_records)
            if not good.all():
                raise ValueError
            waiting.append(pa.RecordBatch.from_arrays(columns, list(self._fields)))
            if sum(map(len, waiting)) >= self._rows:
                yield from self._gathered(waiting)
                waiting = []
        yield from self._gathered(waiting)

    def _gathered(self, waiting: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if waiting:
            for batch in pa.Table.from_batches(waiting).combine_chunks().to_batches():
                yield from slices(batch, self._rows)

    def _listed(self) -> Iterator[pa.RecordBatch]:
        """Whole fields, by fastavro."""
        records = (record for block in self._blocks for record in block)
        while some := list(islice(records, self._rows)):
            columns = [self._column(name, [record.get(name) for record in some]) for name in self._present]
            schema = pa.schema([self._schema.field(name) for name in self._present])
            yield pa.RecordBatch.from_arrays(columns, schema=schema) if columns else _empty(len(some))

    def _column(self, name: str, values: list[Any]) -> pa.Array:
        kind = self._types[name]
        return pa.array(map(_text, values), pa.string()) if kind is None else pa.array(values, kind)

    def close(self) -> None:
        self._stream.close()
        self._file.close()


def _empty(rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{}] * rows, pa.schema([]))


def _text(value: Any) -> str | None:
    return plain_text(value) if value is None or isinstance(value, str | int | float | dict | list) else str(value)


def _type(schema: Any, known: dict[str, pa.DataType | None]) -> pa.DataType | None:
    """The Arrow type of a schema of Avro; None for text.

    >>> _type(["null", "long"], {}), _type(["long", "string"], {}), _type({"type": "array", "items": "int"}, {})
    (DataType(int64), None, ListType(list<item: int64>))
    """
    if isinstance(schema, list):
        some = [each for each in schema if each != "null"]
        return _type(some[0], known) if len(some) == 1 else _TEXT
    if isinstance(schema, str):
        return known.get(schema, _TYPES.get(schema))
    logical = schema.get("logicalType")
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    match schema["type"]:
        case "record":
            known[schema["name"]] = _TEXT
            fields = [(field["name"], _type(field["type"], known)) for field in schema["fields"]]
            return _TEXT if any(kind is None for _, kind in fields) else pa.struct(fields)
        case "array":
            inner = _type(schema["items"], known)
            return _TEXT if inner is None else pa.list_(inner)
        case "map":
            return _TEXT
    found = _type(schema["type"], known)
    if "name" in schema:
        known[schema["name"]] = found
    return found
