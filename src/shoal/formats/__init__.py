"""Bytes to record batches and back, streaming, by the suffix of a file's name."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shoal.errors import InputError
from shoal.formats.arrow import ArrowReader, ArrowWriter
from shoal.formats.block import JSON, Block, Reader, Writer
from shoal.formats.csv import CsvReader
from shoal.formats.jsonl import JsonlReader
from shoal.formats.names import names_of
from shoal.formats.parquet import ParquetReader, ParquetWriter
from shoal.formats.parser import Parser, parser
from shoal.formats.text import lines
from shoal.formats.writer import TextEncoder, TextWriter

__all__ = [
    "JSON",
    "SUFFIXES",
    "Block",
    "Parser",
    "Reader",
    "TextEncoder",
    "Writer",
    "field_names",
    "kind",
    "lines",
    "open_reader",
    "open_writer",
    "parser",
]

SUFFIXES = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz", ".csv", ".csv.gz", ".parquet", ".arrow")


def kind(path: str) -> str:
    """The format of a file, by its name.

    >>> kind("people.csv.gz"), kind("-")
    ('csv', 'jsonl')
    """
    if path == "-":
        return "jsonl"
    for suffix in SUFFIXES:
        if path.lower().endswith(suffix):
            return suffix.split(".")[1].replace("ndjson", "jsonl")
    known = ", ".join(SUFFIXES)
    if path.lower().endswith((".parquet.gz", ".arrow.gz")):
        raise InputError(f"{path}: Parquet and Arrow files compress themselves; name it without .gz")
    raise InputError(f"{path}: unknown kind of file; its name must end in one of {known}, or be - for JSON lines")


def field_names(path: str) -> list[str]:
    """The fields of a file, in order: a header, a schema, or the keys of its first records.

    Standard input can be read only once, so that nothing of it is left for a reader.
    """
    return names_of(path, kind(path))


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
    >>> import pyarrow as pa
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


def open_writer(path: str) -> Writer:
    """Write batches to a file, or to standard output if the path is `-`."""
    match kind(path):
        case "jsonl" | "csv" as text:
            return TextWriter(path, text)
        case "parquet":
            return ParquetWriter(path)
        case _:
            return ArrowWriter(path)
