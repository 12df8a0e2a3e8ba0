"""JSON lines whose keys come and go, by Arrow's JSON parser: types are learned first, and any surprise is left to Python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from shoal.formats.numerals import EXACT, floats
from shoal.formats.regular import Refused
from shoal.formats.dialects import Jsonl, dumps
from shoal.formats.values import TYPES, parse

SAMPLE = 100
DEEP = 500

_LITERAL = re.compile(rb"[:,\[-][ \t]*(?:NaN|Inf)")


class Irregular:
    """Parses blocks whose fields keep the type they had before."""

    def __init__(self, fields: Sequence[str], passed: frozenset[str]) -> None:
        self._fields = fields
        self._passed = passed
        self._types: dict[str, pa.DataType] = {}

    def learn(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Widen the types by what these records hold: nothing to something, whole numbers to all."""
        for name in self._fields:
            old, new = self._types.get(name, pa.null()), _usual([record.get(name) for record in records])
            if pa.types.is_null(old) or {old, new} == {pa.int64(), pa.float64()}:
                self._types[name] = pa.float64() if pa.types.is_floating(old) else new

    def parse(self, block: bytes) -> list[pa.Array]:
        """The asked columns, one row a line."""
        if not self._types:
            records = map(parse, block.split(b"\n", SAMPLE)[:SAMPLE])
            self.learn([record for record in records if isinstance(record, dict)])
        lines = _checked(block)
        options = pyarrow.json.ParseOptions(
            explicit_schema=pa.schema(list(self._types.items())), unexpected_field_behavior="ignore"
        )
        try:
            table = pyarrow.json.read_json(
                pa.BufferReader(block),
                read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                parse_options=options,
            )
        except pa.ArrowInvalid:
            raise Refused from None
        if table.num_rows != lines:
            raise Refused
        columns = dict(zip(self._fields, (column.combine_chunks() for column in table.columns), strict=True))
        return [self._column(name, columns[name], block) for name in self._fields]

    def _column(self, name: str, column: pa.Array, block: bytes) -> pa.Array:
        if name in self._passed:
            return _verbatim(name, column, block)
        if pa.types.is_floating(column.type) and pc.any(pc.greater_equal(pc.abs(column), EXACT)).as_py():
            raise Refused
        return column


def _usual(values: list[Any]) -> pa.DataType:
    """The type of the most values that have one."""
    kinds = Counter(type(value) for value in values if type(value) in TYPES)
    if kinds[int] and kinds[float]:
        return pa.float64()
    return TYPES[kinds.most_common(1)[0][0]] if kinds else pa.null()


def _checked(block: bytes) -> int:
    """The number of lines, if each can only be one whole object.

    Where every line starts with a brace and ends with one, no object can go on over a line's end, since nothing in
    JSON allows `}` and `{` side by side inside an object; so as many objects as lines means one on each.
    """
    data = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    starts = np.concatenate(([0], ends[:-1] + 1))
    braces = (data[starts] == ord("{")).all() and (data[ends - 1] == ord("}")).all()
    if not braces or _LITERAL.search(block) or _is_deep(block, len(ends)):
        raise Refused
    try:
        block.isascii() or block.decode()
    except UnicodeDecodeError:
        raise Refused from None
    return len(ends)


def _is_deep(block: bytes, lines: int) -> bool:
    if block.count(b"{") + block.count(b"[") - lines < DEEP:
        return False
    return any(line.count(b"{") + line.count(b"[") > DEEP for line in block.split(b"\n"))


def _verbatim(name: str, column: pa.Array, block: bytes) -> pa.Array:
    """JSON text; a whole number in a column of floats may have been written either way, so the line is asked."""
    if pa.types.is_string(column.type):
        return pc.if_else(column.is_valid(), Jsonl().quoted(column.fill_null("")), None)
    if not pa.types.is_floating(column.type):
        return column.cast(pa.string())
    texts = floats(column)
    whole = np.asarray(pc.equal(column, pc.trunc(column)).fill_null(False))
    if whole.any():
        lines = block.split(b"\n")
        exact = [dumps(record[name]) for i in np.flatnonzero(whole) if isinstance(record := parse(lines[i]), dict)]
        texts = pc.replace_with_mask(texts, pa.array(whole), pa.array(exact, pa.string()))
    return texts
