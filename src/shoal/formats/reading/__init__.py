"""Files and pieces of bytes to record batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pyarrow as pa
import pyarrow.parquet

from shoal.errors import InputError
from shoal.formats.kind import kind
from shoal.formats.reading.csv import CsvReader
from shoal.formats.reading.jsonl import JsonlReader, first_records
from shoal.formats.reading.reader import Reader
from shoal.formats.reading.tables import MAGIC, ArrowReader, ParquetReader

ROWS = 10_000
"""Records of JSON lines that are looked at; other files name their fields themselves."""


def open_reader(
    path: str, fields: Sequence[str], *, passed: Collection[str] = (), rows: int = 32_768, target: str | None = None
) -> Reader:
    """Read the named fields of a file, block by block.

    Parameters
    ----------
    path
        A file, or `-` for JSON lines on standard input.
    fields
        The fields to read, each once; one that the file does not have is a column of nulls.
    passed
        Those of the fields that are only passed through: from JSON lines they come as JSON text.
    rows
        At most so many records in a block.
    target
        The file that what is passed through will be written to: from Parquet to Parquet, text can go as codes.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from shoal.formats import open_writer
    >>> with TemporaryDirectory() as folder:
    ...     with open_writer(f"{folder}/people.csv") as writer:
    ...         writer.write(pa.record_batch({"name": ["Ann", "Bo"], "age": [40, None]}))
    ...     with open_reader(f"{folder}/people.csv", ["age"]) as reader:
    ...         for block in reader:
    ...             print(block.batch.to_pydict(), block.rows)
    {'age': ['40', '']} [0 1]
    """
    match kind(path):
        case "jsonl":
            return JsonlReader(path, fields, passed, rows)
        case "csv":
            return CsvReader(path, fields, passed, rows)
        case "parquet":
            return ParquetReader(path, fields, passed, rows, may_code=target is not None and kind(target) == "parquet")
        case _:
            return ArrowReader(path, fields, rows)


def field_names(path: str) -> list[str]:
    """The fields of a file, in order: a header, a schema, or the keys of its first records.

    Standard input can be read only once: nothing of it is left for a reader afterwards.
    """
    match kind(path):
        case "jsonl":
            return list(first_records(path, ROWS).keys())
        case "csv":
            with CsvReader(path, (), (), 1) as reader:
                return reader.header()
        case "parquet":
            with ParquetReader(path, (), (), 1):
                return _once(path, pyarrow.parquet.read_schema(path))
        case _:
            with ArrowReader(path, (), 1):
                return _once(path, _schema(path))


def _schema(path: str) -> pa.Schema:
    with pa.memory_map(path) as file:
        is_file = file.read(len(MAGIC)) == MAGIC
        file.seek(0)
        return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).schema


def _once(path: str, schema: pa.Schema) -> list[str]:
    names = list(schema.names)
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: has two columns named {name!r}; rename one of them")
    return names
