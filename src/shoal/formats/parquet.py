"""Parquet: columns by name, a few thousand records in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet

from shoal.errors import InputError
from shoal.formats.block import Block, Reader
from shoal.formats.source import opened
from shoal.formats.table import Numbering, TableWriter, names_checked


class ParquetReader(Reader):
    """Reads asked string columns as dictionaries, the others as they are."""

    def __init__(self, path: str, fields: Sequence[str], passed: Collection[str], rows: int) -> None:
        self._path = path
        self._numbering = Numbering(fields)
        self._rows = rows
        self._done = 0
        with opened(path):
            self._total = os.path.getsize(path)
        try:
            schema = pyarrow.parquet.read_schema(path)
            self._present = names_checked(path, schema, fields)
            self._numbering.names = schema.names
            strings = [n for n in self._present if n not in passed and pa.types.is_string(schema.field(n).type)]
            self._file = pyarrow.parquet.ParquetFile(
                path, read_dictionary=strings, pre_buffer=False, buffer_size=1 << 20
            )
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def _broken(self) -> InputError:
        return InputError(f"{self._path}: is not a Parquet file, or damaged or cut short; write it again")

    def __iter__(self) -> Iterator[Block]:
        count = self._file.metadata.num_rows
        try:
            for batch in self._file.iter_batches(self._rows, columns=self._present, use_threads=False):
                block = self._numbering.block(batch)
                self._done = self._total * self._numbering.row // max(count, 1)
                yield block
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def progress(self) -> tuple[int, int | None]:
        return self._done, self._total

    def close(self) -> None:
        self._file.close()


class ParquetWriter(TableWriter):
    """Writes a row group a table.

    Statistics are kept for the columns that are passed through; of intervals and labels they would tell nothing, at a
    fifth of the cost of writing. Snappy is a tenth faster than zstd here, for a file a tenth larger.
    """

    _writer: pyarrow.parquet.ParquetWriter | None = None

    def _put(self, table: pa.Table) -> None:
        if self._writer is None:
            passed = [field.name for field in table.schema if not _is_generalized(field.type)]
            self._writer = pyarrow.parquet.ParquetWriter(
                self._sink.native(), table.schema, compression="snappy", write_statistics=passed
            )
        if len(table):
            self._writer.write_table(table.unify_dictionaries(), row_group_size=len(table))

    def _end(self) -> None:
        if self._writer:
            self._writer.close()


def _is_generalized(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_dictionary(kind))
