"""The first rows of an input, column by column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from shoal.columns.convert import column
from shoal.errors import InputError
from shoal.formats import field_names, kind, open_reader
from shoal.formats.json_values import typed_column as typed
from shoal.formats.reading.jsonl import Records, first_records

RARE = 5
"""What fewer persons than these have could tell who they are: it is never written down."""

LONGEST_NAME = 120
_BLOCK = 65_536


class Field(NamedTuple):
    """One field of the sample, as it came."""

    name: str
    arrays: list[pa.Array]
    nested: bool


class Sample(NamedTuple):
    """The first rows of an input."""

    fields: list[Field]
    rows: int  # that could be read
    bad: int  # that could not
    complete: bool  # whether there are no more
    unnamed: int = 0  # fields whose name is empty or too long for a policy
    seldom: int = 0  # fields that so few records have that the name itself could tell who


def sample(path: str, rows: int) -> Sample:
    """At most so many rows of a file, or of JSON lines on standard input if the path is `-`."""
    if rows < 1:
        raise InputError("rows: is below 1; look at one row at least")
    found = _of_records(first_records(path, rows)) if kind(path) == "jsonl" else _of_table(path, rows)
    if not found.rows:
        broken = f"none of its first {found.bad:,} rows can be read; correct them" if found.bad else "has no records"
        raise InputError(f"{path}: {broken}, since a draft needs some to look at")
    usable = [field for field in found.fields if field.name.strip() and len(field.name) <= LONGEST_NAME]
    return found._replace(fields=usable, unnamed=len(found.fields) - len(usable))


def _of_records(records: Records) -> Sample:
    keys = records.keys()
    often = [key for key, count in keys.items() if count >= min(RARE, len(records.good))]
    fields = []
    for key in often:
        values = [record.get(key) for record in records.good]
        fields.append(Field(key, [typed(values)], any(isinstance(value, dict | list) for value in values)))
    return Sample(fields, len(records.good), records.bad, records.complete, seldom=len(keys) - len(often))


def _of_table(path: str, rows: int) -> Sample:
    names = field_names(path)
    arrays: dict[str, list[pa.Array]] = {name: [] for name in names}
    count = bad = 0
    complete = True
    with open_reader(path, names, rows=min(rows + 1, _BLOCK)) as reader:
        for block in reader:
            cut = int(np.searchsorted(block.rows, rows))
            wrong = sum(row < rows for row, _ in block.bad)
            for name in names:
                arrays[name].append(column(block.batch, name).slice(0, cut))
            count, bad = count + cut, bad + wrong
            if cut < len(block.rows) or wrong < len(block.bad):
                complete = False
                break
    return Sample([_field(name, parts) for name, parts in arrays.items()], count, bad, complete)


def _field(name: str, arrays: list[pa.Array]) -> Field:
    return Field(name, arrays, any(pa.types.is_nested(_plain(array.type)) for array in arrays))


def _plain(kind: Any) -> Any:
    return kind.value_type if pa.types.is_dictionary(kind) else kind
