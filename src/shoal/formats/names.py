"""The names of the fields of a file, before anything of it is asked for."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet

from shoal.errors import InputError
from shoal.formats.arrow import MAGIC, ArrowReader
from shoal.formats.csv import CsvReader
from shoal.formats.parquet import ParquetReader
from shoal.formats.records import first_records

ROWS = 10_000
"""Records of JSON lines that are looked at; other files name their fields themselves."""


def names_of(path: str, kind: str) -> list[str]:
    """The fields of a file of this kind, in order."""
    match kind:
        case "jsonl":
            return list(first_records(path, ROWS).keys())
        case "csv":
            return _header(path)
        case "parquet":
            with ParquetReader(path, (), (), 1):
                return _once(path, pyarrow.parquet.read_schema(path))
        case _:
            with ArrowReader(path, (), 1):
                return _once(path, _schema(path))


def _header(path: str) -> list[str]:
    with CsvReader(path, (), (), 1) as reader:
        return reader.header()


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
