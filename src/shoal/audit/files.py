"""Files as blocks of columns, read for the audit alone."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.policy import canonical

Source: TypeAlias = "str | PathLike[str] | pa.Table | pa.RecordBatch"

ROWS = 131_072
BYTES = 1 << 24
_AGAIN = " (again)"
_SUFFIXES = (".jsonl", ".ndjson", ".csv", ".parquet", ".arrow")
_DAMAGED = "cannot be read; check that it is complete and of the kind that its suffix says"


class Block(NamedTuple):
    """Some rows, column by column. A record that is malformed has a number and no row."""

    columns: Mapping[str, pa.Array]
    line: NDArray[np.int64]  # the number of each row in its file, from 0
    end: int  # the number after the last record that was read, malformed ones included

    @property
    def rows(self) -> int:
        return len(self.line)


def blocks(source: Source, fields: Iterable[str] | None = None) -> Iterator[Block]:
    """The rows of a file or of an Arrow table, block by block; only these fields, or all.

    Raises:
        InputError: the file is absent, of an unknown kind, or broken.
    """
    wanted = None if fields is None else set(fields)
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
                yield from _csv(path, wanted)
            case _:
                yield from _jsonl(path, wanted)
    except FileNotFoundError:
        raise InputError(f"{path}: does not exist; correct the path") from None
    except (pa.ArrowException, OSError, EOFError):
        raise InputError(f"{path}: {_DAMAGED}") from None


def _tables(batches: Iterable[pa.RecordBatch], wanted: set[str] | None) -> Iterator[Block]:
    start = 0
    for batch in batches:
        columns = _named(batch.schema.names, batch.columns, wanted)
        end = start + batch.num_rows
        yield Block(columns, np.arange(start, end), end)
        start = end


def _named(names: Iterable[str], columns: Iterable[pa.Array], wanted: set[str] | None) -> dict[str, pa.Array]:
    """The columns by name; one whose name was there before gets another, so that it is not overlooked."""
    found: dict[str, pa.Array] = {}
    for name, column in zip(names, columns, strict=True):
        if wanted is None or name in wanted:
            found[name if name not in found else f"{name}{_AGAIN}"] = column
    return found


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
            return
        yield from (reader.get_batch(i) for i in range(reader.num_record_batches))


def _csv(path: str, wanted: set[str] | None) -> Iterator[Block]:
    malformed: list[int] = []

    def skip(row: Any) -> str:
        malformed.append(row.number - 2)
        return "skip"

    with _opened(path) as file:
        names = _header(file, path)
    kinds = {name: pa.dictionary(pa.int32(), pa.binary()) for name in names}
    with _opened(path) as file:
        reader = pa.csv.open_csv(
            file,
            read_options=pa.csv.ReadOptions(block_size=BYTES, use_threads=False),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=skip),
            convert_options=pa.csv.ConvertOptions(column_types=kinds, strings_can_be_null=False),
        )
        start = 0
        for batch in reader:
            lines, start = _numbered(start, batch.num_rows, malformed)
            good = _is_utf8(batch)
            columns = _named(names, batch.columns, wanted)
            if not good.all():
                columns = {name: column.filter(pa.array(good)) for name, column in columns.items()}
            yield Block(columns, lines[good], start)


def _is_utf8(batch: pa.RecordBatch) -> NDArray[np.bool_]:
    """Which rows are UTF-8 throughout; a record that is not is malformed."""
    good = np.ones(batch.num_rows, bool)
    for column in batch.columns:
        values = column.dictionary
        with suppress(pa.ArrowInvalid):
            values.cast(pa.string())
            continue
        fine = np.array([_decodes(value) for value in values.to_pylist()], bool)
        good &= fine[column.indices.to_numpy()]
    return good


def _decodes(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _header(file: BinaryIO, path: str) -> list[str]:
    """The names of a CSV file's columns."""
    try:
        reader = pa.csv.open_csv(
            file,
            read_options=pa.csv.ReadOptions(use_threads=False),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=lambda row: "skip"),
            convert_options=pa.csv.ConvertOptions(strings_can_be_null=False),
        )
    except pa.ArrowInvalid:
        raise InputError(f"{path}: has no header; write the names of the fields into its first line") from None
    return list(reader.schema.names)


def _numbered(start: int, rows: int, malformed: list[int]) -> tuple[NDArray[np.int64], int]:
    """The numbers of the next rows, passing over those that are malformed; and the number after them."""
    bad = [number for number in malformed if number >= start]
    numbers = np.arange(start, start + rows + len(bad))
    numbers = numbers[~np.isin(numbers, bad)][:rows]
    end = int(numbers[-1]) + 1 if rows else start
    while end in bad:
        end += 1
    return numbers, end


def _jsonl(path: str, wanted: set[str] | None) -> Iterator[Block]:
    as_text: dict[str, pa.DataType] = {}
    start = 0
    with _opened(path) as file:
        for block in _lines(file):
            table = _parsed(block, as_text)
            if table is None:
                columns, good, count = _one_by_one(block, wanted)
                lines = start + np.flatnonzero(good)
            else:
                columns = {name: table.column(name).combine_chunks() for name in table.schema.names}
                columns = {name: column for name, column in columns.items() if wanted is None or name in wanted}
                count = table.num_rows
                lines = np.arange(start, start + count)
            start += count
            yield Block(columns, lines, start)


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Blocks of whole lines."""
    rest = b""
    while more := file.read(BYTES):
        end = more.rfind(b"\n") + 1
        if end:
            yield rest + more[:end]
            rest = more[end:]
        else:
            rest += more
    if rest:
        yield rest


def _parsed(block: bytes, as_text: dict[str, pa.DataType]) -> pa.Table | None:
    """The table of a block, or nothing where its lines are not all alike. Texts that look like times stay texts."""
    options = pa.json.ReadOptions(use_threads=False, block_size=max(len(block), 1))
    while True:
        try:
            table = pa.json.read_json(
                pa.BufferReader(block), options, pa.json.ParseOptions(explicit_schema=pa.schema(as_text.items()))
            )
        except pa.ArrowException:
            return None
        times = {field.name: _without_times(field.type) for field in table.schema}
        changed = {name: kind for name, kind in times.items() if kind != table.schema.field(name).type}
        if not changed:
            return None if any(_is_coarse(table.column(name)) for name in table.schema.names) else table
        as_text.update(changed)


def _without_times(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(_without_times(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_times(field.type)) for field in kind])
    return kind


def _is_coarse(column: pa.ChunkedArray) -> bool:
    """Whether whole numbers among others may have lost digits on the way to doubles."""
    if not pa.types.is_floating(column.type):
        return False
    values = np.abs(column.to_numpy())
    return bool((values[np.isfinite(values)] > 2**53).any())


def _one_by_one(block: bytes, wanted: set[str] | None) -> tuple[dict[str, pa.Array], NDArray[np.bool_], int]:
    """The records of a block's lines, which of them are records, and how many lines there are."""
    records: list[dict[str, Any]] = []
    good: list[bool] = []
    for line in block.split(b"\n"):
        if not line.strip():
            continue
        record = None
        with suppress(ValueError, RecursionError):
            record = json.loads(line, object_pairs_hook=_record)
        good.append(isinstance(record, dict))
        if isinstance(record, dict):
            records.append(record)
    names = dict.fromkeys(name for record in records for name in record if wanted is None or name in wanted)
    columns = {name: _array([record.get(name) for record in records]) for name in names}
    return columns, np.array(good, bool), len(good)


def _record(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; of a name that appears twice the last counts, and what came before is kept under another."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            found[f"{name}{_AGAIN}"] = found[name]
        found[name] = value
    return found


def _array(values: list[Any]) -> pa.Array:
    """An Arrow array; of texts, where the values are of several types."""
    if len({type(value) for value in values if value is not None} - {int, float}) < 2:
        with suppress(pa.ArrowException, OverflowError):
            array = pa.array(values)
            if not _is_coarse(pa.chunked_array([array])):
                return array
    return _texts(values)


def texts_of(column: pa.Array) -> pa.Array:
    """A column of whatever type as texts."""
    return _texts(column.to_pylist())


def _texts(values: list[Any]) -> pa.Array:
    known: dict[str, str] = {}
    return pa.array([_written(value, known) for value in values], pa.string())


def _written(value: Any, known: dict[str, str]) -> str | None:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict | list):
        shape = repr(value)
        if shape not in known:
            known[shape] = json.dumps(value, ensure_ascii=False, default=str)
        return known[shape]
    return value if isinstance(value, str) else canonical(value)


def _opened(path: str) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(path) if path.endswith(".gz") else Path(path).open("rb"))
