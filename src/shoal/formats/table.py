"""What Parquet and Arrow have in common: typed columns."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.formats.block import JSON, Block
from shoal.formats.unicode import valid
from shoal.formats.values import kind


def names_checked(path: str, schema: pa.Schema, fields: Sequence[str]) -> list[str]:
    """Those of the fields that are in the schema, each once."""
    for name in fields:
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: has two columns named {name!r}; rename one of them")
    return [name for name in fields if name in schema.names]


class Numbering:
    """Arranges batches as asked and numbers their rows."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = list(fields)
        self.row = 0

    def block(self, batch: pa.RecordBatch) -> Block:
        numbers = np.arange(self.row, self.row + len(batch))
        self.row += len(batch)
        failed: list[tuple[int, str]] = []
        good = valid(batch.columns, len(batch))
        if good is not None:
            failed = [(int(row), "not valid UTF-8") for row in numbers[~good]]
            numbers, batch = numbers[good], batch.filter(pa.array(good))
        names = batch.schema.names
        columns = [batch.column(n) if n in names else pa.nulls(len(batch)) for n in self._fields]
        schema = pa.schema([batch.schema.field(n) if n in names else pa.field(n, pa.null()) for n in self._fields])
        return Block(pa.RecordBatch.from_arrays(columns, schema=schema), numbers, failed)


class Typed:
    """Batches of one schema: JSON texts become typed columns, as the first batch suggests, and coded intervals plain."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._schema: pa.Schema | None = None

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [self._column(i, column, batch.schema.field(i)) for i, column in enumerate(batch.columns)]
        if self._schema is None:
            fields = [pa.field(name, column.type) for name, column in zip(batch.schema.names, columns, strict=True)]
            self._schema = pa.schema(fields)
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, i: int, column: pa.Array, field: pa.Field) -> pa.Array:
        fixed = None if self._schema is None else self._schema.field(i).type
        if (field.metadata or {}).get(b"shoal") == JSON[b"shoal"]:
            ...
        if pa.types.is_dictionary(column.type) and pa.types.is_struct(column.type.value_type):
            column = column.dictionary.take(column.indices)
        return column
