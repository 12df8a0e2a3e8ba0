"""Parquet: columns by name, a few thousand records in memory at a time."""

from __future__ import annotations

import base64
import os
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet

from shoal.errors import InputError
from shoal.formats.block import CODED, Block, Reader, is_coded
from shoal.formats.source import opened
from shoal.formats.table import Numbering, TableWriter, names_checked

_SHORT = 4  # bytes of a value, on average: shorter than that are codes, not texts


class ParquetReader(Reader):
    """Reads asked string columns as dictionaries, the others as they are; and if it may, also some of those passed through."""

    def __init__(self, path: str, fields: Sequence[str], passed: Collection[str], rows: int, may_code: bool = False) -> None:
        self._path = path
        self._numbering = Numbering(fields)
        self._rows = rows
        self._done = 0
        with opened(path):
            self._total = os.path.getsize(path)
        try:
            metadata = pyarrow.parquet.read_metadata(path)
            schema = metadata.schema.to_arrow_schema()
            self._present = names_checked(path, schema, fields)
            self._numbering.names = schema.names
            strings = [n for n in self._present if pa.types.is_string(schema.field(n).type)]
            self._coded = [n for n in strings if n in passed and may_code and _holds_codes(metadata, n)]
            self._file = pyarrow.parquet.ParquetFile(
                path, metadata=metadata, read_dictionary=[n for n in strings if n not in passed or n in self._coded],
                pre_buffer=False, buffer_size=1 << 16,
            )  # fmt: skip
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def _broken(self) -> InputError:
        return InputError(f"{self._path}: is not a Parquet file, or damaged or cut short; write it again")

    def __iter__(self) -> Iterator[Block]:
        count = self._file.metadata.num_rows
        try:
            for batch in self._file.iter_batches(self._rows, columns=self._present, use_threads=False):
                block = self._numbering.block(self._marked(batch))
                self._done = self._total * self._numbering.row // max(count, 1)
                yield block
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def _marked(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        schema = batch.schema
        for name in self._coded:
            schema = schema.set(schema.names.index(name), schema.field(name).with_metadata(CODED))
        return pa.RecordBatch.from_arrays(batch.columns, schema=schema) if self._coded else batch

    def progress(self) -> tuple[int, int | None]:
        return self._done, self._total

    def close(self) -> None:
        self._file.close()


def _holds_codes(metadata: pyarrow.parquet.FileMetaData, name: str) -> bool:
    """Whether few values come again and again, so that the file holds codes of them: a look at its first row group."""
    if metadata.num_row_groups == 0:
        return False
    group = metadata.row_group(0)
    columns = (group.column(i) for i in range(group.num_columns))
    return any(
        each.path_in_schema == name and each.has_dictionary_page and each.total_uncompressed_size < _SHORT * each.num_values
        for each in columns
    )


class ParquetWriter(TableWriter):
    """Writes a row group a table.

    Statistics are kept for the columns that are passed through; of intervals and labels they would tell nothing, at a
    fifth of the cost of writing. Snappy is a tenth faster than zstd here, for a file a tenth larger.
    """

    _writer: pyarrow.parquet.ParquetWriter | None = None

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._coded: set[str] = set()

    def write(self, batch: pa.RecordBatch) -> None:
        if self._writer is None:
            self._coded |= {field.name for field in batch.schema if is_coded(field)}
        super().write(batch)

    def _put(self, table: pa.Table) -> None:
        if self._writer is None:
            passed = [field.name for field in table.schema if field.name in self._coded or not _is_generalized(field.type)]
            self._writer = pyarrow.parquet.ParquetWriter(
                self._sink.native(), table.schema, compression="snappy", write_statistics=passed, store_schema=False
            )
            self._writer.add_key_value_metadata({"ARROW:schema": base64.b64encode(self._decoded(table.schema).serialize())})
        if len(table):
            self._writer.write_table(table.unify_dictionaries(), row_group_size=len(table))

    def _decoded(self, schema: pa.Schema) -> pa.Schema:
        """The types that are read back."""
        fields = [field.with_type(pa.string()) if field.name in self._coded else field for field in schema]
        return pa.schema(fields, schema.metadata)

    def _end(self) -> None:
        if self._writer:
            self._writer.close()


def _is_generalized(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_dictionary(kind))
