"""Bytes to record batches (`reading`) and back (`writing`), streaming, by the suffix of a file's name."""

from shoal.formats.avro import Decoder, Unsuited
from shoal.formats.json_values import dumps, plain_text, typed_column, typed_texts
from shoal.formats.kind import SUFFIXES, WRITABLE, is_standard, kind, packing, standard, suffix, writable
from shoal.formats.reading import field_names, open_reader
from shoal.formats.reading.detect import Detected, detected, differs
from shoal.formats.reading.first import Field, First, FirstRows, first_rows
from shoal.formats.reading.jsonl_regular import LONGEST
from shoal.formats.reading.parser import Parser, first_end, first_record, last_record, overlong, parser
from shoal.formats.reading.reader import BOM, Block, Reader, Source, opened, reason
from shoal.formats.schemas import RecordEncoder, record_encoder
from shoal.formats.writing import open_writer
from shoal.formats.writing.text import TextEncoder, lines
from shoal.formats.writing.writer import Writer, guarded

__all__ = [
    "BOM", "LONGEST", "SUFFIXES", "WRITABLE", "Block", "Decoder", "Detected", "Field", "First", "FirstRows", "Parser", "Reader",
    "RecordEncoder", "Source", "TextEncoder", "Unsuited", "Writer", "detected", "differs", "dumps", "field_names", "first_end",
    "first_record", "first_rows", "guarded", "is_standard", "kind", "last_record", "lines", "open_reader", "open_writer",
    "opened", "overlong", "packing", "parser", "plain_text", "reason", "record_encoder", "standard", "suffix", "typed_column",
    "typed_texts", "writable",
]  # fmt: skip
