"""Parquet: columns by name, a few thousand records in memory at a time."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet

from shoal.errors import InputError
from shoal.formats.block import Block, Reader, Writer
from shoal.formats.sink import Sink
from shoal.formats.source import checked
from shoal.formats.table import Numbering, Typed, names_checked

GROUP = 128 * 1024
"""Records in a row group."""


class ParquetReader(Reader):
    """Reads asked string columns as dictionaries, the others as they are."""

    def __init__(self, path: str, fields: Sequence[str], passed: Collection[str], rows: int) -> None:
        self._path = checked(path)
        self._numbering = Numbering(fields)
        self._rows = rows
        self._total = os.path.getsize(path)
        self._done = 0
        try:
            self._file = self._opened([])
            schema = self._file.schema_arrow
            self._present = names_checked(path, schema, fields)
            strings = [n for n in self._present if n not in passed and pa.types.is_string(schema.field(n).type)]
            if strings:
                self._file.close()
                self._file = self._opened(strings)
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def _opened(self, dictionaries: list[str]) -> pyarrow.parquet.ParquetFile:
        return pyarrow.parquet.ParquetFile(
            self._path, read_dictionary=dictionaries, pre_buffer=False, buffer_size=1 << 20
        )

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


class ParquetWriter(Writer):
    """Writes row groups of many batches, however small these are.

    Statistics are kept for the columns that are passed through; of intervals and labels they would tell nothing, at a
    fifth of the cost of writing. Snappy is a tenth faster than zstd here, for a file a tenth larger.
    """

    def __init__(self, path: str) -> None:
        self._sink = Sink(path)
        self._typed = Typed(path)
        self._writer: pyarrow.parquet.ParquetWriter | None = None
        self._waiting: list[pa.RecordBatch] = []
        self._count = 0

    def write(self, batch: pa.RecordBatch) -> None:
        batch = self._typed.batch(batch)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(
                self._sink.native(),
                batch.schema,
                compression="snappy",
                write_statistics=[field.name for field in batch.schema if not _is_generalized(field.type)],
            )
        self._waiting.append(batch)
        self._count += len(batch)
        if self._count >= GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._writer and self._count:
            table = pa.Table.from_batches(self._waiting).unify_dictionaries()
            with self._sink.guarded():
                self._writer.write_table(table, row_group_size=self._count)
        self._waiting, self._count = [], 0

    def close(self, failed: bool = False) -> None:
        try:
            if self._writer and not failed:
                self._flush()
            if self._writer:
                with self._sink.guarded():
                    self._writer.close()
        except BaseException:
            failed = True
            raise
        finally:
            self._sink.close(failed)


def _is_generalized(kind: pa.DataType) -> bool:
    return pa.types.is_nested(kind) or pa.types.is_dictionary(kind)
