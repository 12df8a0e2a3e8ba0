"""Files as blocks of columns, read for the audit alone."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from shoal.audit.block import Block, heads, named
from shoal.audit.books import avro, orc, sheet
from shoal.audit.textfiles import csv, jsonl
from shoal.errors import InputError
from shoal.policy import Input

Source: TypeAlias = "str | PathLike[str] | pa.Table | pa.RecordBatch"

ROWS = 131_072
_USUAL = Input()
_PACKED = (".gz", ".zst", ".bz2", ".xz")
_TEXTS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv")
_BOOKS = (".xlsx", ".xls", ".xlsb", ".ods")
_SUFFIXES = (*_TEXTS, ".parquet", ".arrow", ".feather", ".orc", ".avro", *_BOOKS)
_KINDS = {
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.large_binary(),
    pa.binary(): pa.large_binary(),
    pa.float16(): pa.float32(),
}
_DAMAGED = "cannot be read; check that it is complete and of the kind that its suffix says"


def blocks(source: Source, fields: Iterable[str] | None = None, written: Input = _USUAL) -> Iterator[Block]:
    """The rows of a file or of an Arrow table, block by block; only these fields, or all.

    A text is written as the policy declares; the output and the trace as usual.
    """
    wanted = None if fields is None else heads(set(fields))
    if isinstance(source, pa.RecordBatch | pa.Table):
        yield from _tables(source.to_batches(max_chunksize=ROWS) if isinstance(source, pa.Table) else [source], wanted)
        return
    path = fspath(source)
    packed = next((end for end in _PACKED if path.lower().endswith(end)), "")
    plain = path.lower().removesuffix(packed)
    kind = next((suffix for suffix in _SUFFIXES if plain.endswith(suffix)), None)
    if kind is None or (packed and kind not in _TEXTS):
        known = f"{', '.join(_TEXTS)} (each also {', '.join(_PACKED)}), {', '.join(_SUFFIXES[len(_TEXTS) :])}"
        raise InputError(f"{path}: the kind of file is not known; use one of {known}")
    try:
        match kind:
            case ".parquet":
                yield from _tables(_parquet(path, wanted), wanted)
            case ".arrow" | ".feather":
                yield from _tables(_arrow(path), wanted)
            case ".orc":
                yield from _tables(orc(path, wanted), wanted)
            case ".avro":
                yield from _tables(avro(path), wanted)
            case ".csv" | ".tsv":
                yield from csv(path, wanted, written, written.separator or ("\t" if kind == ".tsv" else ","))
            case ".jsonl" | ".ndjson" | ".json":
                yield from jsonl(path, wanted, written.encoding)
            case _:
                yield from _tables([sheet(path, written.sheet or "", written.header)], wanted)
    except FileNotFoundError:
        raise InputError(f"{path}: does not exist; correct the path") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error, lzma.LZMAError):
        raise InputError(f"{path}: {_DAMAGED}") from None


def _tables(batches: Iterable[pa.RecordBatch], wanted: set[str] | None) -> Iterator[Block]:
    start = 0
    for batch in batches:
        columns = named(batch.schema.names, map(_usual, batch.columns), wanted)
        end = start + batch.num_rows
        yield Block(columns, np.arange(start, end), end)
        start = end


def _usual(column: pa.Array) -> pa.Array:
    """A column in a type that Arrow can compute with."""
    if isinstance(column.type, pa.BaseExtensionType):
        name, column = column.type.extension_name, column.storage
        if name == "arrow.uuid":
            digits = [None if each is None else each.hex() for each in column.to_pylist()]
            column = pa.array([h and f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}" for h in digits], pa.string())
        elif name == "arrow.bool8":
            column = column.cast(pa.bool_())
    kind = pa.large_binary() if pa.types.is_fixed_size_binary(column.type) else _KINDS.get(column.type)
    return column if kind is None else column.cast(kind)


def _parquet(path: str, wanted: set[str] | None) -> Iterator[pa.RecordBatch]:
    with pyarrow.parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = [name for name in schema.names if wanted is None or name in wanted]
        texts = [name for name in names if pa.types.is_string(schema.field(name).type)]
    with pyarrow.parquet.ParquetFile(path, read_dictionary=texts) as file:
        if not names:
            yield from (pa.RecordBatch.from_pylist([{}] * group) for group in [file.metadata.num_rows] if group)
            return
        if any(_holds_dictionary(schema.field(name).type) for name in names):  # which Arrow reads within a row group alone
            for group in range(file.num_row_groups):
                yield from file.read_row_group(group, columns=names, use_threads=False).to_batches(max_chunksize=ROWS)
            return
        yield from file.iter_batches(batch_size=ROWS, columns=names, use_threads=False)


def _holds_dictionary(kind: pa.DataType) -> bool:
    """Whether a dictionary lies inside a struct, a list or a map.

    >>> _holds_dictionary(pa.struct([("value", pa.dictionary(pa.int32(), pa.string()))])), _holds_dictionary(pa.string())
    (True, False)
    """
    inner = [kind.field(place).type for place in range(kind.num_fields)]
    return any(pa.types.is_dictionary(each) or _holds_dictionary(each) for each in inner)


def _arrow(path: str) -> Iterator[pa.RecordBatch]:
    with pa.memory_map(path) as file:
        try:
            reader = pa.ipc.open_file(file)
        except pa.ArrowInvalid:
            file.seek(0)
            yield from pa.ipc.open_stream(file)
            if file.tell() < file.size():
                raise
            return
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
