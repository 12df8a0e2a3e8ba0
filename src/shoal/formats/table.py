"""What Parquet and Arrow have in common: typed columns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.formats.block import Block, Writer, is_json
from shoal.formats.jsontext import typed
from shoal.formats.sink import Sink
from shoal.formats.unicode import NOT_UTF8, filtered, valid
from shoal.path import head, in_batch, leads

GROUP = 60_000
"""Records that are written at a time, at least: what leaves because of two blocks that were read."""


def names_checked(path: str, schema: pa.Schema, fields: Sequence[str]) -> list[str]:
    """The columns of the schema that hold these fields, each once; a field inside a column is a path to it."""
    for name in fields:
        if schema.names.count(name) > 1:
            raise InputError(f"{path}: has two columns named {name!r}; rename one of them")
    found = [name for name in fields if name in schema.names]
    inside = [name for name in fields if name not in schema.names and _leads(schema, name)]
    return [*found, *dict.fromkeys(head(name) for name in inside if head(name) not in found)]


def _leads(schema: pa.Schema, name: str) -> bool:
    first, *steps = name.split(".")
    return first in schema.names and leads(schema.field(first).type, steps)


class Numbering:
    """Arranges batches as asked and numbers their rows."""

    def __init__(self, fields: Sequence[str]) -> None:
        self._fields = list(fields)
        self.row = 0
        self.names: Sequence[str] = ()
        """The fields of the whole file."""

    def block(self, batch: pa.RecordBatch, is_valid: bool = False) -> Block:
        """A block of the batch, less the records whose text, unless it is known to be valid, is no UTF-8."""
        numbers = np.arange(self.row, self.row + len(batch))
        self.row += len(batch)
        bad: list[tuple[int, str]] = []
        good = None if is_valid else valid(batch.columns)
        if good is not None:
            bad = [(row, NOT_UTF8) for row in numbers[~good].tolist()]
            numbers = numbers[good]
            columns = [filtered(column, good) for column in batch.columns]
            batch = pa.RecordBatch.from_arrays(columns, schema=batch.schema)
        names = batch.schema.names
        found = [in_batch(batch, n) for n in self._fields]
        columns = [pa.nulls(len(numbers)) if column is None else column for column in found]
        schema = pa.schema([
            batch.schema.field(n) if n in names else pa.field(n, column.type)
            for n, column in zip(self._fields, columns, strict=True)
        ])  # fmt: skip
        return Block(pa.RecordBatch.from_arrays(columns, schema=schema), numbers, bad, self.names)


class TableWriter(Writer):
    """Writes many batches at a time, however small they are, as a table of one schema.

    Columns of JSON text take the type that the first table's values have, or stay text if these differ.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._sink = Sink(path)
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0
        self._schema: pa.Schema | None = None
        self._texts: set[str] = set()

    @abstractmethod
    def _put(self, table: pa.Table) -> None:
        """Append a table to the file; the first one may be empty."""

    @abstractmethod
    def _end(self) -> None:
        """Complete the file, if it was begun."""

    def write(self, batch: pa.RecordBatch) -> None:
        self._waiting.append(batch)
        self._count += len(batch)
        if self._count >= GROUP:
            self._flush()

    def _flush(self) -> None:
        names = self._waiting[0].schema.names
        columns = [self._column(name, [batch.column(i) for batch in self._waiting]) for i, name in enumerate(names)]
        table = pa.Table.from_arrays(columns, names)
        self._schema = table.schema
        with self._sink.guarded():
            self._put(table)
        self._waiting, self._count = [], 0

    def _column(self, name: str, chunks: list[pa.Array]) -> pa.ChunkedArray:
        fixed = None if self._schema is None else self._schema.field(name).type
        if name in self._texts:
            return pa.chunked_array(chunks, pa.string())
        if is_json(self._waiting[0].schema.field(name)):
            texts = pa.chunked_array(chunks, pa.string()).combine_chunks()
            found = typed(texts)
            if found is None and fixed is None:
                self._texts.add(name)
                return pa.chunked_array([texts])
            chunks = [texts if found is None else found]
            fixed = fixed or (pa.string() if pa.types.is_null(chunks[0].type) else chunks[0].type)
        plain = [_plain(chunk) for chunk in chunks]
        kind = fixed or _widest([chunk.type for chunk in plain])
        try:
            return pa.chunked_array([_fitted(chunk, kind) for chunk in plain], kind)
        except pa.ArrowException:
            raise InputError(
                f"{self._path}: {name!r} began as {kind} and went on as another type; "
                "write to a .jsonl file, where values of any type can follow each other"
            ) from None

    def close(self, failed: bool = False) -> None:
        try:
            if self._waiting and not failed:
                self._flush()
            with self._sink.guarded():
                self._end()
        except BaseException:
            failed = True
            raise
        finally:
            self._sink.close(failed)


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


def _widest(kinds: list[pa.DataType]) -> pa.DataType:
    """The first type, unless a later one holds it too: float64 after int64, anything after null."""
    schemas = [pa.schema([("", kind)]) for kind in dict.fromkeys(kinds)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return kinds[0]


def _fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column as the type, if nothing is lost and no value is taken for one of another kind."""
    if column.type == kind:
        return column
    if _family(column.type) not in ("null", _family(kind)):
        raise pa.ArrowInvalid("another kind of value")
    return column.cast(kind)


def _family(kind: pa.DataType) -> str:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "text"
    return "number" if pa.types.is_integer(kind) or pa.types.is_floating(kind) else str(kind).split("<")[0]
