"""The first rows of a file: block by block, or as columns of all its fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.dialect import USUAL, Dialect
from shoal.formats.json_values import typed_column
from shoal.formats.kind import kind
from shoal.formats.reading import open_reader
from shoal.formats.reading.jsonl import Records, first_records
from shoal.formats.reading.jsonl_regular import is_unicode
from shoal.formats.reading.reader import Block
from shoal.path import in_record, inside

_BLOCK = 65_536
DEEPEST = 6  # levels of objects inside objects whose fields are looked at


class First:
    """Iterates over the blocks of the first rows of a file, the last one cut; then says how many rows they had."""

    def __init__(self, path: str, fields: Sequence[str] | None, rows: int, dialect: Dialect = USUAL) -> None:
        self._path, self._fields, self._limit, self._dialect = path, fields, rows, dialect
        self.rows = 0  # that could be read
        self.bad = 0  # that could not
        self.complete = False  # whether there are no more

    def __iter__(self) -> Iterator[Block]:
        limit = self._limit
        with open_reader(self._path, self._fields, rows=min(limit + 1, _BLOCK), dialect=self._dialect) as reader:
            for block in reader:
                cut = int(np.searchsorted(block.rows, limit))
                bad = [(row, reason) for row, reason in block.bad if row < limit]
                self.rows, self.bad = self.rows + cut, self.bad + len(bad)
                yield block._replace(batch=block.batch.slice(0, cut), rows=block.rows[:cut], bad=bad)
                if cut < len(block.rows) or len(bad) < len(block.bad):
                    return
        self.complete = True


class Field(NamedTuple):
    """One field of the first rows, in the types of the input; a field inside objects is called by its path."""

    name: str
    arrays: list[pa.Array]
    records: int  # that have it; of a table, all

    @property
    def is_nested(self) -> bool:
        """Whether it holds lists, or objects too deep to be looked into."""
        kinds = (array.type.value_type if pa.types.is_dictionary(array.type) else array.type for array in self.arrays)
        return any(pa.types.is_nested(kind) for kind in kinds)


class FirstRows(NamedTuple):
    """The first rows of a file, as columns."""

    fields: list[Field]
    rows: int  # that could be read
    bad: int  # that could not
    complete: bool  # whether there are no more
    nested: frozenset[str] = frozenset()  # fields that hold lists or, at least in some records, objects


def first_rows(path: str, rows: int, dialect: Dialect = USUAL) -> FirstRows:
    """At most `rows` rows of a file, or of JSON lines on standard input if the path is `-`, with all fields."""
    if kind(path) == "jsonl":
        return _of_records(first_records(path, rows, dialect.encoding))
    first = First(path, None, rows, dialect)
    arrays: dict[str, list[pa.Array]] = {}
    for block in first:
        for name, column in zip(block.batch.schema.names, block.batch.columns, strict=True):
            for path_of, inner in _leaves(name, column):
                arrays.setdefault(path_of, []).append(inner)
    fields = [Field(name, parts, first.rows) for name, parts in arrays.items()]
    return FirstRows(fields, first.rows, first.bad, first.complete, frozenset(each.name for each in fields if each.is_nested))


def _leaves(name: str, column: pa.Array, depth: int = 0) -> Iterator[tuple[str, pa.Array]]:
    """The columns inside structs, by their paths."""
    if not pa.types.is_struct(column.type) or depth == DEEPEST:
        yield name, column
        return
    for field in column.type:
        yield from _leaves(f"{name}.{field.name}", inside(column, [field.name]), depth + 1)


def _of_records(records: Records) -> FirstRows:
    counts: dict[str, int] = {}
    for record in records.good:
        for path in _paths(record):
            counts[path] = counts.get(path, 0) + 1
    objects = {path[:place] for path in counts for place, mark in enumerate(path) if mark == "."}
    fields, nested = [], set()
    for path in filter(is_unicode, counts):
        values = [_scalar(record, path) for record in records.good]
        is_object = path in objects and any(isinstance(in_record(record, path), dict) for record in records.good)
        if is_object and all(value is None for value in values):
            continue  # null where it is no object; its own fields say so
        fields.append(Field(path, [typed_column(values)], counts[path]))
        if is_object or any(isinstance(value, dict | list) for value in values):
            nested.add(path)
    return FirstRows(fields, len(records.good), records.bad, records.complete, frozenset(nested))


def _paths(record: Mapping[str, Any], before: str = "", depth: int = 0) -> Iterator[str]:
    """The paths of all fields of a record, also inside objects.

    >>> list(_paths({"a": 1, "b": {"c": 2, "d": [3]}}))
    ['a', 'b.c', 'b.d']
    """
    for key, value in record.items():
        if isinstance(value, Mapping) and value and depth < DEEPEST:
            yield from _paths(value, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}"


def _scalar(record: Mapping[str, Any], path: str) -> Any:
    """The value at a path; None if there is none, or an object whose own fields are looked at."""
    value = in_record(record, path)
    is_there = isinstance(value, str | bool | int | float | list) or (isinstance(value, dict) and path.count(".") >= DEEPEST)
    return value if is_there else None
