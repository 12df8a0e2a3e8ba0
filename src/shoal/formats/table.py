"""What Parquet and Arrow have in common: typed columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.formats.block import JSON, Block
from shoal.formats.jsontext import typed
from shoal.formats.unicode import valid


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

    def block(self, batch: pa.RecordBatch, is_valid: bool = False) -> Block:
        """A block of the batch, less the records whose text, unless it is known to be valid, is no UTF-8."""
        numbers = np.arange(self.row, self.row + len(batch))
        self.row += len(batch)
        bad: list[tuple[int, str]] = []
        good = None if is_valid else valid(batch.columns)
        if good is not None:
            bad = [(row, "not valid UTF-8") for row in numbers[~good].tolist()]
            numbers, batch = numbers[good], batch.filter(pa.array(good))
        names = batch.schema.names
        columns = [batch.column(n) if n in names else pa.nulls(len(numbers)) for n in self._fields]
        schema = pa.schema([batch.schema.field(n) if n in names else pa.field(n, pa.null()) for n in self._fields])
        return Block(pa.RecordBatch.from_arrays(columns, schema=schema), numbers, bad)


class Typed:
    """Batches of one schema: JSON texts become typed columns, as the first batch suggests, and coded intervals plain."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._schema: pa.Schema | None = None
        self._texts: set[int] = set()

    def batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._schema is None:
            columns = [self._first(i, column, batch.schema.field(i)) for i, column in enumerate(batch.columns)]
            names = batch.schema.names
            self._schema = pa.schema([pa.field(n, c.type) for n, c in zip(names, columns, strict=True)])
        else:
            columns = [self._next(i, column, batch.schema.field(i)) for i, column in enumerate(batch.columns)]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _first(self, i: int, column: pa.Array, field: pa.Field) -> pa.Array:
        if not _is_json(field):
            return _plain(column)
        found = typed(column.cast(pa.string()))
        if found is None:
            self._texts.add(i)
            return column.cast(pa.string())
        return found.cast(pa.string()) if pa.types.is_null(found.type) else found

    def _next(self, i: int, column: pa.Array, field: pa.Field) -> pa.Array:
        assert self._schema is not None
        fixed = self._schema.field(i)
        if i in self._texts:
            return column.cast(pa.string())
        found = typed(column.cast(pa.string())) if _is_json(field) else _plain(column)
        if found is not None:
            if found.type == fixed.type:
                return found
            if pa.types.is_null(found.type) or pa.types.is_integer(found.type) and pa.types.is_floating(fixed.type):
                try:
                    return found.cast(fixed.type)
                except pa.ArrowInvalid:
                    pass
        raise InputError(
            f"{self._path}: {field.name!r} began as {fixed.type} and went on with values of another type; "
            "write to a .jsonl file, which holds any"
        )


def _is_json(field: pa.Field) -> bool:
    return (field.metadata or {}).get(b"shoal") == JSON[b"shoal"]


def _plain(column: pa.Array) -> pa.Array:
    """Intervals as such, and dictionaries without nulls and without an entry twice."""
    if not pa.types.is_dictionary(column.type):
        return column
    if pa.types.is_struct(column.type.value_type):
        return column.dictionary.take(column.indices)
    entries = column.dictionary.dictionary_encode()
    if len(entries.dictionary) == len(column.dictionary):
        return column
    return pa.DictionaryArray.from_arrays(entries.indices.take(column.indices), entries.dictionary).cast(column.type)
