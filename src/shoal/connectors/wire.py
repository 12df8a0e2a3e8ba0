"""Messages of Avro and Protobuf in the wire format of a schema registry as blocks of records."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.connectors.debezium import AFTER, OPERATION, is_removal
from shoal.connectors.protobuf_messages import ProtobufReader
from shoal.connectors.record_columns import Columns, listed_columns
from shoal.connectors.schema_registry import PREFIX, Found, SchemaRegistry, id_of
from shoal.errors import ConnectorError
from shoal.extras import needs
from shoal.formats import Block, Decoder, Unsuited

NO_WIRE = "not in the wire format of a schema registry"
DAMAGED = "does not fit its schema, or is damaged"


class Raw(NamedTuple):
    """The value of a message, and what is added to its record."""

    value: bytes
    fields: Mapping[str, Any] = {}


class WireReader:
    """Turns messages into blocks. With `envelope` they are changes of Debezium, of which the rows after the change count."""

    def __init__(self, registry: SchemaRegistry, kind: str, fields: Sequence[str], envelope: bool) -> None:
        self._registry, self._kind, self._envelope = registry, kind, envelope
        self._fields = list(fields)
        inside = [OPERATION, *(f"{AFTER}.{name}" for name in self._fields)]
        self._wanted = inside if envelope else self._fields
        self._readers: dict[int, AvroReader | ProtobufReader] = {}

    def blocks(self, messages: Sequence[Raw]) -> tuple[list[Block], int]:
        """Blocks that are numbered from 0, and how many messages were removals."""
        blocks: list[Block] = []
        row = removed = 0
        for number, some in groupby(messages, lambda message: id_of(message.value)):
            group = list(some)
            if number is None:
                bad = [(row + i, NO_WIRE) for i in range(len(group))]
                blocks.append(Block(_nothing(self._fields), np.zeros(0, np.int64), bad))
                row += len(group)
                continue
            found = self._read(number, group)
            removed += found.removed
            rows = np.arange(row, row + len(found.good))
            bad = [(each, DAMAGED) for each in rows[~found.good].tolist()]
            blocks.append(Block(found.batch, rows[found.good], bad, found.names))
            row += len(found.good)
        return blocks, removed

    def _read(self, number: int, group: list[Raw]) -> _Read:
        reader = self._readers.get(number) or self._opened(number)
        added = [name for name in (group[0].fields if group else ()) if name in self._fields]
        columns, good = reader.columns([message.value[PREFIX:] for message in group])
        names = [name for name, column in zip(self._wanted, columns, strict=True) if not pa.types.is_null(column.type)]
        removed = 0
        if self._envelope:
            stays = np.array([not is_removal(each) for each in columns[0].to_pylist()], bool)
            removed = int((~stays).sum())
            columns, good = [column.filter(pa.array(stays)) for column in columns[1:]], good[stays]
            group = [message for message, kept in zip(group, stays, strict=True) if kept]
            names = [name.removeprefix(f"{AFTER}.") for name in names if name != OPERATION]
        for name in added:
            columns[self._fields.index(name)] = pa.array([message.fields[name] for message in group])
        batch = pa.RecordBatch.from_arrays(columns, self._fields)
        return _Read(batch if good.all() else batch.filter(pa.array(good)), good, [*names, *added], removed)

    def _opened(self, number: int) -> AvroReader | ProtobufReader:
        found = self._registry.schema(number)
        if found.kind != self._kind.upper():
            raise ConnectorError(f"registry: schema {number} is of the kind {found.kind}; correct format: {self._kind}")
        try:
            reader = AvroReader(found, self._wanted) if found.kind == "AVRO" else ProtobufReader(found, self._wanted)
        except (ValueError, KeyError, TypeError):
            raise ConnectorError(f"registry: schema {number} cannot be read as {self._kind}; correct it") from None
        self._readers[number] = reader
        return reader


class _Read(NamedTuple):
    batch: pa.RecordBatch  # of the good rows
    good: NDArray[np.bool_]
    names: list[str]
    removed: int


def _nothing(fields: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.nulls(0) for _ in fields], names=list(fields))


class AvroReader:
    """By a compiled loop; lists, maps and decimals by fastavro."""

    def __init__(self, found: Found, fields: Sequence[str]) -> None:
        with needs("registry", "format: avro"):
            import fastavro
        named: dict[str, Any] = {}
        for text in found.others.values():
            fastavro.parse_schema(json.loads(text), named_schemas=named)
        schema = json.loads(found.text)
        self._fields, self._read = fields, fastavro.schemaless_reader
        self._parsed = fastavro.parse_schema(schema, named_schemas=named)
        self._decoder: Decoder | None = None
        if not found.others:
            try:
                self._decoder = Decoder(schema, fields)
            except Unsuited:
                self._decoder = None

    def columns(self, records: Sequence[bytes]) -> Columns:
        return Columns(*self._decoder.columns(records)) if self._decoder else self._listed(records)

    def _listed(self, records: Sequence[bytes]) -> Columns:
        read, good = [], np.ones(len(records), bool)
        for i, record in enumerate(records):
            try:
                read.append(self._read(io.BytesIO(record), self._parsed, None))
            except Exception:
                read.append({})
                good[i] = False
        return Columns(listed_columns(read, self._fields), good)
