"""Bytes to record batches (`reading`) and back (`writing`), streaming, by the suffix of a file's name."""

from shoal.formats.json_values import dumps, typed_column
from shoal.formats.kind import SUFFIXES, kind
from shoal.formats.reading import field_names, open_reader
from shoal.formats.reading.jsonl import Records, first_records
from shoal.formats.reading.parser import Parser, first_record, last_record, parser
from shoal.formats.reading.reader import BOM, Block, Reader, Source, opened, reason
from shoal.formats.writing import open_writer
from shoal.formats.writing.text import TextEncoder, lines
from shoal.formats.writing.writer import Writer, guarded

__all__ = [
    "BOM", "SUFFIXES", "Block", "Parser", "Reader", "Records", "Source", "TextEncoder", "Writer", "dumps", "field_names",
    "first_record", "first_records", "guarded", "kind", "last_record", "lines", "open_reader", "open_writer", "opened",
    "parser", "reason", "typed_column",
]  # fmt: skip
