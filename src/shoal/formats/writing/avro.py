"""Avro object container files, by fastavro."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from shoal.extras import needs
from shoal.formats.writing.tables import TableWriter
from shoal.shapes import identifiers

_PLAIN = ((pa.types.is_boolean, "boolean"), (pa.types.is_integer, "long"), (pa.types.is_floating, "double"))
_TEXTS = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary, pa.types.is_null)


class AvroWriter(TableWriter):
    """Writes one block, or some, per table. Every field may be null; a name that Avro does not allow is changed."""

    def __init__(self, path: str, private: bool = False) -> None:
        with needs("avro", path):
            from fastavro.write import Writer
        super().__init__(path, private)
        self._make = Writer
        self._writer: Any = None

    def _put(self, table: pa.Table) -> None:
        names = identifiers(table.schema.names)
        if self._writer is None:
            fields = [_field(name, field) for name, field in zip(names, table.schema, strict=True)]
            schema = {"type": "record", "name": "Tuple", "namespace": "shoal", "fields": fields}
            self._writer = self._make(_Out(self._sink), schema, codec="deflate")
        for batch in table.to_batches():
            columns = [_values(column) for column in batch.columns]
            for row in zip(*columns, strict=True):
                self._writer.write(dict(zip(names, row, strict=True)))

    def _end(self) -> None:
        if self._writer is not None:
            self._writer.flush()


class _Out:
    """A sink as fastavro writes to it."""

    def __init__(self, sink: Any) -> None:
        self.write = sink.write

    def flush(self) -> None: ...

    def seekable(self) -> bool:
        return False


def _field(name: str, field: pa.Field) -> dict[str, Any]:
    note = {} if name == field.name else {"doc": f"the field {field.name}"}
    return {"name": name, **note, "type": ["null", _type(field.type, name)], "default": None}


def _type(kind: pa.DataType, name: str) -> Any:
    """
    >>> _type(pa.struct([("lo", pa.int64())]), "age")["fields"]
    [{'name': 'lo', 'type': ['null', 'long'], 'default': None}]
    """
    for fits, plain in _PLAIN:
        if fits(kind):
            return plain
    if any(fits(kind) for fits in _TEXTS):
        return "string"
    if pa.types.is_struct(kind):
        names = identifiers([field.name for field in kind])
        fields = [_inner(f"{name}_{plain}", plain, field) for plain, field in zip(names, kind, strict=True)]
        return {"type": "record", "name": f"{name}_record", "fields": fields}
    if pa.types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if pa.types.is_date(kind):
        return {"type": "int", "logicalType": "date"}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return {"type": "array", "items": ["null", _type(kind.value_type, f"{name}_entry")]}
    return "bytes" if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) else "string"


def _inner(path: str, name: str, field: pa.Field) -> dict[str, Any]:
    """A field of a record inside: what is never null there has no null in Avro either."""
    if field.nullable:
        return {"name": name, "type": ["null", _type(field.type, path)], "default": None}
    return {"name": name, "type": _type(field.type, path)}


def _values(column: pa.Array) -> list[Any]:
    kind = column.type
    if _type(kind, "x") == "string" and not any(fits(kind) for fits in _TEXTS):
        return [None if value is None else str(value) for value in column.to_pylist()]
    return list(column.to_pylist())
