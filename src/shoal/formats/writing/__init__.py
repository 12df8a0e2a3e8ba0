"""Record batches to files and text."""

from __future__ import annotations

from shoal.formats.kind import written_kind
from shoal.formats.writing.tables import ArrowWriter, ParquetWriter
from shoal.formats.writing.writer import TextWriter, Writer


def open_writer(path: str, private: bool = False) -> Writer:
    """Write batches to a file, or to standard output if the path is `-`. With `private` only the owner may read the file."""
    match written_kind(path):
        case "jsonl" | "csv" as text:
            return TextWriter(path, text, private)
        case "parquet":
            return ParquetWriter(path, private)
        case "avro":
            from shoal.formats.writing.avro import AvroWriter

            return AvroWriter(path, private)
        case _:
            return ArrowWriter(path, private)
