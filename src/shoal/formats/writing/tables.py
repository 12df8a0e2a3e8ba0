"""Files with typed columns: Parquet and Arrow's own format (IPC)."""

from __future__ import annotations

import base64
from abc import abstractmethod
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from shoal.column_types import is_blurred_label, is_coded, is_json, is_set
from shoal.errors import InputError
from shoal.formats.json_values import typed_texts
from shoal.formats.writing.writer import Sink, Writer

if TYPE_CHECKING:
    import pyarrow.parquet

GROUP = 60_000  # the fewest records that are written at a time: about those that two blocks of input release


class TableWriter(Writer):
    """Collects small batches, and writes them as tables of one schema.

    A column of JSON text gets the type of the values of the first table, or stays text if these have several.
    """

    def __init__(self, path: str, private: bool = False) -> None:
        self._path = path
        self._sink = Sink(path, private)
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
            found = typed_texts(texts)
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
    """Intervals without a dictionary, and dictionaries without nulls and without duplicates."""
    if not pa.types.is_dictionary(column.type):
        return column
    if pa.types.is_struct(column.type.value_type):
        return column.dictionary.take(column.indices)
    entries = column.dictionary.dictionary_encode()
    if len(entries.dictionary) == len(column.dictionary):
        return column
    return pa.DictionaryArray.from_arrays(entries.indices.take(column.indices), entries.dictionary).cast(column.type)


def _widest(kinds: list[pa.DataType]) -> pa.DataType:
    """The first type, or one that holds all of them: float64 for int64 and float64, any type for null."""
    schemas = [pa.schema([("", kind)]) for kind in dict.fromkeys(kinds)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except pa.ArrowException:
        return kinds[0]


def _fitted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """The column in another type, if nothing is lost and no value becomes one of another kind."""
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


class ArrowWriter(TableWriter):
    """Writes one record batch per table. The dictionary of a column only grows, as the format requires."""

    _writer: pa.RecordBatchFileWriter | None = None

    def __init__(self, path: str, private: bool = False) -> None:
        super().__init__(path, private)
        self._known: dict[str, pa.Array] = {}

    def _put(self, table: pa.Table) -> None:
        if self._writer is None:
            options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
            self._writer = pa.ipc.new_file(self._sink.native(), table.schema, options=options)
        for batch in table.unify_dictionaries().combine_chunks().to_batches():
            columns = [self._grown(name, batch.column(name)) for name in table.schema.names]
            self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=table.schema))

    def _end(self) -> None:
        if self._writer:
            self._writer.close()

    def _grown(self, name: str, column: pa.Array) -> pa.Array:
        """A dictionary column with all entries so far; any other column unchanged."""
        if is_blurred_label(column.type):
            children = [self._grown(name, column.field(0)), column.field(1)]
            return pa.StructArray.from_arrays(children, fields=list(column.type), mask=column.is_null())
        if is_set(column.type):
            values = self._grown(name, column.values)
            return pa.ListArray.from_arrays(column.offsets, values, column.type, mask=column.is_null())
        if not pa.types.is_dictionary(column.type):
            return column
        known = self._known.setdefault(name, column.dictionary)
        if column.dictionary.equals(known):
            return column
        new = column.dictionary.filter(pc.is_null(pc.index_in(column.dictionary, known)))
        if len(new):
            known = self._known[name] = pa.concat_arrays([known, new])
        codes = pc.index_in(column.dictionary, known).cast(column.type.index_type)
        return pa.DictionaryArray.from_arrays(codes.take(column.indices), known)


class ParquetWriter(TableWriter):
    """Writes one row group per table.

    Statistics are written for columns that are passed through only: for intervals and labels they are of no use, and take a
    fifth of the time of writing. Snappy is a tenth faster than zstd here, for a file a tenth larger.
    """

    _writer: pyarrow.parquet.ParquetWriter | None = None

    def __init__(self, path: str, private: bool = False) -> None:
        super().__init__(path, private)
        self._coded: set[str] = set()

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._coded |= {field.name for field in batch.schema if is_coded(field)}
        super().write(batch)

    def _put(self, table: pa.Table) -> None:
        if self._writer is None:
            import pyarrow.parquet  # loads file systems, which no other format needs

            passed = [field.name for field in table.schema if field.name in self._coded or not _is_generalized(field.type)]
            self._writer = pyarrow.parquet.ParquetWriter(
                self._sink.native(), table.schema, compression="snappy", write_statistics=passed, store_schema=False
            )
            self._writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(self._decoded(table.schema).serialize())})
        if len(table):
            self._writer.write_table(table.unify_dictionaries(), row_group_size=len(table))

    def _decoded(self, schema: pa.Schema) -> pa.Schema:
        """The schema as it is read back: coded columns are strings, and so are labels inside structs and lists.

        Several readers refuse a dictionary inside one of these as soon as a file has a second row group. The file itself holds
        codes of a column's values in any case.
        """
        fields = [field.with_type(pa.string()) if field.name in self._coded else _without_labels(field) for field in schema]
        return pa.schema(fields, schema.metadata)

    def _end(self) -> None:
        if self._writer:
            self._writer.close()


def _without_labels(field: pa.Field) -> pa.Field:
    """The field with strings in place of dictionaries inside structs and lists.

    >>> _without_labels(pa.field("city", pa.struct([("value", pa.dictionary(pa.int32(), pa.string()))])))
    pyarrow.Field<city: struct<value: string>>
    """
    if is_set(field.type):
        return field.with_type(pa.list_(field.type.value_type.value_type))
    if not pa.types.is_struct(field.type):
        return field
    inner = [_without_labels(each) for each in field.type]
    plain = [each.with_type(each.type.value_type) if pa.types.is_dictionary(each.type) else each for each in inner]
    return field.with_type(pa.struct(plain))


def _is_generalized(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_dictionary(kind))
