"""Files as blocks of columns, read for the audit alone."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from os import PathLike, fspath
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from shoal.audit.block import Block, heads, named
from shoal.audit.textfiles import csv, jsonl
from shoal.errors import InputError

Source: TypeAlias = "str | PathLike[str] | pa.Table | pa.RecordBatch"

ROWS = 131_072
_SUFFIXES = (".jsonl", ".ndjson", ".csv", ".parquet", ".arrow")
_USUAL = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary(), pa.float16(): pa.float32()}
_DAMAGED = "cannot be read; check that it is complete and of the kind that its suffix says"


def blocks(source: Source, fields: Iterable[str] | None = None) -> Iterator[Block]:
    """The rows of a file or of an Arrow table, block by block; only these fields, or all."""
    wanted = None if fields is None else heads(set(fields))
    if isinstance(source, pa.RecordBatch | pa.Table):
        yield from _tables(source.to_batches(max_chunksize=ROWS) if isinstance(source, pa.Table) else [source], wanted)
        return
    path = fspath(source)
    plain = path.removesuffix(".gz")
    kind = next((suffix for suffix in _SUFFIXES if plain.endswith(suffix)), None)
    if kind is None or (plain != path and kind in (".parquet", ".arrow")):
        raise InputError(f"{path}: the kind of file is not known; use .jsonl, .csv (each also .gz), .parquet or .arrow")
    try:
        match kind:
            case ".parquet":
                yield from _tables(_parquet(path, wanted), wanted)
            case ".arrow":
                yield from _tables(_arrow(path), wanted)
            case ".csv":
                yield from csv(path, wanted)
            case _:
                yield from jsonl(path, wanted)
    except FileNotFoundError:
        raise InputError(f"{path}: does not exist; correct the path") from None
    except (pa.ArrowException, OSError, EOFError, zlib.error):
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
    kind = _USUAL.get(column.type)
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
        yield from file.iter_batches(batch_size=ROWS, columns=names, use_threads=False)


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
