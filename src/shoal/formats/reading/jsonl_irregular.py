"""JSON lines with different keys: types are learned from the first lines, and given to Arrow's JSON parser."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json

from shoal.formats.json_values import EXACT, TYPES, dumps, float_texts
from shoal.formats.reading.jsonl_regular import Refused, parse
from shoal.formats.writing.dialects import Jsonl
from shoal.path import head, in_batch, in_record, is_place

SAMPLE = 100
DEEP = 500

_HINTS = re.compile(rb"NaN"), re.compile(rb"Inf")
_LITERAL = re.compile(rb"[:,\[-][ \t]*(?:NaN|Inf)")
_ESCAPED = re.compile(rb'\\u[0-9A-Fa-f]{4}[^"]*"[ \t]*:')  # a key with an escape in it


class Irregular:
    """Parses blocks whose fields have the types of earlier ones."""

    def __init__(self, fields: Sequence[str], passed: frozenset[str]) -> None:
        self._fields = fields
        self._passed = passed
        self._types: dict[str, pa.DataType] = {}
        self.names: dict[str, None] = {}  # the keys of the first and the last lines of the last block

    def learn(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Widen the types to hold these records: null to any type, whole numbers to all numbers."""
        for name in self._fields:
            old, new = self._types.get(name, pa.null()), _usual([in_record(record, name) for record in records])
            if pa.types.is_null(old) or {old, new} == {pa.int64(), pa.float64()}:
                self._types[name] = pa.float64() if pa.types.is_floating(old) else new

    def parse(self, block: bytes) -> list[pa.Array]:
        """The asked columns, one row per line."""
        records = _records(block.split(b"\n", SAMPLE)[:SAMPLE])
        if not self._types:
            self.learn(records)
        last = _records(block.rstrip(b"\n").rsplit(b"\n", SAMPLE)[1:])
        self.names = dict.fromkeys(name for record in (*records, *last) for name in record)
        lines = _checked(block)
        options = pyarrow.json.ParseOptions(
            explicit_schema=_schema(self._types, self._inside(block)), unexpected_field_behavior="ignore"
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
        whole = pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], schema=table.schema)
        return [self._column(name, in_batch(whole, name), block) for name in self._fields]

    def _inside(self, block: bytes) -> set[str]:
        """Those of the fields that are paths in these lines, and not keys that hold dots."""
        dotted = [name for name in self._fields if "." in name]
        if dotted and _ESCAPED.search(block):
            raise Refused
        paths = {name for name in dotted if _key(name) not in block}
        if any(map(is_place, (step for name in paths for step in name.split(".")[1:]))):
            raise Refused
        if any(head(name) in self._types or (name not in paths and _key(head(name)) in block) for name in dotted):
            raise Refused
        return paths

    def _column(self, name: str, column: pa.Array, block: bytes) -> pa.Array:
        if name in self._passed:
            return _verbatim(name, column, block)
        if pa.types.is_floating(column.type) and pc.any(pc.greater_equal(pc.abs(column), EXACT)).as_py():
            raise Refused
        return column


def _records(lines: list[bytes]) -> list[dict[str, Any]]:
    return [record for record in map(parse, lines) if isinstance(record, dict)]


def _key(name: str) -> bytes:
    """
    >>> _key("é")
    b'"\\xc3\\xa9"'
    """
    return dumps(name).encode()


def _schema(types: Mapping[str, pa.DataType], paths: Collection[str]) -> pa.Schema:
    """The types of keys, with structs for paths.

    >>> _schema({"a": pa.int64(), "b.c": pa.string()}, {"b.c"})
    a: int64
    b: struct<c: string>
      child 0, c: string
    """
    tree: dict[str, Any] = {}
    for name, kind in types.items():
        *above, last = name.split(".") if name in paths else [name]
        inner = tree
        for step in above:
            inner = inner.setdefault(step, {})
            if not isinstance(inner, dict):
                raise Refused
        if last in inner:
            raise Refused
        inner[last] = kind
    return pa.schema(_fields(tree))


def _fields(tree: dict[str, Any]) -> list[pa.Field]:
    return [pa.field(name, pa.struct(_fields(kind)) if isinstance(kind, dict) else kind) for name, kind in tree.items()]


def _usual(values: list[Any]) -> pa.DataType:
    """The most frequent type of the values."""
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
    long = np.flatnonzero(ends - starts > DEEP)
    literal = any(hint.search(block) for hint in _HINTS) and _LITERAL.search(block)
    if literal or not braces or any(_is_extreme(block[starts[i] : ends[i]]) for i in long):
        raise Refused
    try:
        block.isascii() or block.decode()
    except UnicodeDecodeError:
        raise Refused from None
    return len(ends)


def _is_extreme(line: bytes) -> bool:
    """Whether Python may refuse it as too deep, or a number in it as too long, while Arrow would not."""
    return line.count(b"{") + line.count(b"[") > DEEP or re.search(rb"[0-9]{4300}", line) is not None


def _verbatim(name: str, column: pa.Array, block: bytes) -> pa.Array:
    """JSON text. A whole number in a column of floats may be written as 1 or 1.0, which is looked up in its line."""
    if pa.types.is_string(column.type):
        texts = pc.binary_join_element_wise('"', Jsonl().escaped(column.fill_null("")), '"', "")
        return pc.if_else(column.is_valid(), texts, None)
    if not pa.types.is_floating(column.type):
        return column.cast(pa.string())
    texts = float_texts(column)
    whole = np.asarray(pc.equal(column, pc.trunc(column)).fill_null(False))
    if whole.any():
        lines = block.split(b"\n")
        exact = [dumps(in_record(json.loads(lines[i]), name)) for i in np.flatnonzero(whole)]
        texts = pc.replace_with_mask(texts, pa.array(whole), pa.array(exact, pa.string()))
    return texts
