"""What the tests of the formats share."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.column_types import BLURRED_INTERVAL, BLURRED_LABEL, JSON, interval, struct_of
from shoal.formats import Block, open_reader, open_writer


def read(path: Path, fields: list[str], **options: Any) -> list[Block]:
    with open_reader(str(path), fields, **options) as reader:
        blocks = list(reader)
    for block in blocks:
        assert block.batch.schema.names == fields
        assert len(block.batch) == len(block.rows)
        block.batch.validate(full=True)
    return blocks


def values(blocks: list[Block], field: str) -> list[Any]:
    return [value for block in blocks for value in block.batch.column(field).to_pylist()]


def numbers(blocks: list[Block]) -> list[int]:
    return [int(row) for block in blocks for row in block.rows]


def bad(blocks: list[Block]) -> list[tuple[int, str]]:
    return [one for block in blocks for one in block.bad]


def write(path: Path, *batches: pa.RecordBatch) -> Path:
    with open_writer(str(path)) as writer:
        for batch in batches:
            writer.write(batch)
    return path


def json_field(name: str) -> pa.Field:
    return pa.field(name, pa.string(), metadata=JSON)


def json_batch(**columns: list[Any]) -> pa.RecordBatch:
    """Columns of JSON text, null for None."""
    arrays = [pa.array([None if v is None else json.dumps(v) for v in c], pa.string()) for c in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([json_field(name) for name in columns]))


def intervals(*ends: tuple[float, float] | None) -> pa.StructArray:
    kind = pa.float64() if any(isinstance(end, float) for pair in ends if pair for end in pair) else pa.int64()
    sides = [pa.array([pair[side] if pair else 0 for pair in ends], kind) for side in (0, 1)]
    missing = pa.array([pair is None for pair in ends], pa.bool_())
    return pa.StructArray.from_arrays(sides, fields=list(interval(kind)), mask=missing)


def blurred_intervals(number: type, *rows: tuple[float, float, bool] | None) -> pa.StructArray:
    """Both ends, and whether they are in doubt; None is missing."""
    kind = pa.from_numpy_dtype(number)
    return _blurred(BLURRED_INTERVAL, [kind, kind, pa.bool_()], (0, 0, False), rows)


def blurred_labels(*rows: tuple[str, bool] | None) -> pa.StructArray:
    """A label, and whether it is in doubt; None is missing."""
    return _blurred(BLURRED_LABEL, [pa.dictionary(pa.int32(), pa.string()), pa.bool_()], ("World", False), rows)


def _blurred(names: tuple[str, ...], kinds: list[pa.DataType], below: tuple[Any, ...], rows: Sequence[Any]) -> pa.StructArray:
    """`below` is what stands below a null."""
    children = [pa.array([(row or below)[i] for row in rows], kind) for i, kind in enumerate(kinds)]
    missing = pa.array([row is None for row in rows], pa.bool_())
    return pa.StructArray.from_arrays(children, fields=list(struct_of(names, kinds)), mask=missing)
