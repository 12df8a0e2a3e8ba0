"""Avro files, by fastavro, in the types of their own schema."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa

from shoal.extras import needs
from shoal.formats.json_values import plain_text
from shoal.formats.reading.reader import Block, opened
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
    """Reads records block by block. A field that may have several types is read as text."""

    _format = "an Avro"

    def __init__(self, path: str, fields: Sequence[str] | None, rows: int) -> None:
        with needs("avro", path):
            import fastavro
        super().__init__(path, fields, rows)
        self._file = opened(path)
        self._total = os.path.getsize(path)
        try:
            self._records: Iterator[Any] = fastavro.reader(open(path, "rb"))  # noqa: SIM115
            written: Any = self._records.writer_schema
            self._types = {field["name"]: _type(field["type"], {}) for field in written["fields"]}
        except Exception:
            raise self._broken() from None
        self._learn(pa.schema([(name, kind or pa.string()) for name, kind in self._types.items()]))

    def __iter__(self) -> Iterator[Block]:
        while True:
            try:
                records = list(islice(self._records, self._rows))
                columns = [self._column(name, [record.get(name) for record in records]) for name in self._present]
            except Exception:
                raise self._broken() from None
            if not records:
                break
            schema = pa.schema([self._schema.field(name) for name in self._present])
            batch = pa.RecordBatch.from_arrays(columns, schema=schema) if columns else _empty(len(records))
            yield self._numbering.block(batch)
        self._done = self._total

    def _column(self, name: str, values: list[Any]) -> pa.Array:
        kind = self._types[name]
        return pa.array(map(_text, values), pa.string()) if kind is None else pa.array(values, kind)

    def close(self) -> None:
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
