"""Record batches to files and text."""

from __future__ import annotations

from shoal.formats.kind import kind
from shoal.formats.writing.tables import ArrowWriter, ParquetWriter
from shoal.formats.writing.writer import TextWriter, Writer


def open_writer(path: str) -> Writer:
    """Write batches to a file, or to standard output if the path is `-`."""
    match kind(path):
        case "jsonl" | "csv" as text:
            return TextWriter(path, text)
        case "parquet":
            return ParquetWriter(path)
        case _:
            return ArrowWriter(path)
