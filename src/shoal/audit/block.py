"""Some rows of a file as columns, and fields inside fields: `payload.patient.age`."""

from __future__ import annotations

import gzip
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

BYTES = 1 << 24
AGAIN = " (again)"


class Block(NamedTuple):
    """Some rows, column by column. A record that is malformed has a number and no row."""

    columns: Mapping[str, pa.Array]
    line: NDArray[np.int64]  # the number of each row in its file, from 0
    end: int  # the number after the last record that was read, malformed ones included

    @property
    def rows(self) -> int:
        return len(self.line)


def named(names: Iterable[str], columns: Iterable[pa.Array], wanted: set[str] | None) -> dict[str, pa.Array]:
    """The columns by name; one whose name was there before gets another, so that it is not overlooked."""
    found: dict[str, pa.Array] = {}
    for name, column in zip(names, columns, strict=True):
        if wanted is None or name in wanted:
            found[name if name not in found else f"{name}{AGAIN}"] = column
    return found


def opened(path: str) -> BinaryIO:
    """A file's bytes, unpacked if its name says that they are packed."""
    return cast(BinaryIO, gzip.GzipFile(path) if path.endswith(".gz") else Path(path).open("rb"))


def heads(fields: set[str]) -> set[str]:
    """The fields, and those that they may lie in.

    >>> sorted(heads({"a.b.c", "d"}))
    ['a', 'a.b.c', 'd']
    """
    return fields | {name.split(".")[0] for name in fields}


def doubtful(names: Collection[str], fields: Collection[str]) -> list[str]:
    """Those of the fields that may stand under their name in one record, and inside another field in the next.

    >>> doubtful(["a", "a.b", "c"], {"a.b", "c.d"})
    ['a.b']
    """
    return [name for name in fields if "." in name and name in names and name.split(".")[0] in names]


def found_in(record: Mapping[str, Any], name: str) -> Any:
    """What a record holds under a name or a path; None if nothing.

    >>> found_in({"a": {"b": 1}}, "a.b"), found_in({"a": "{}", "a.b": 2}, "a.b"), found_in({"a": 3}, "a.b")
    (1, 2, None)
    """
    if name in record:
        return record[name]
    found: Any = record
    for step in name.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def inside(columns: Mapping[str, pa.Array], name: str) -> pa.Array | None:
    """The column of a field that lies in the structs of another."""
    first, *steps = name.split(".")
    column = columns.get(first) if steps else None
    for step in steps:
        if column is None or not pa.types.is_struct(column.type) or column.type.get_field_index(step) < 0:
            return None
        column = pc.struct_field(column, step)
    return column
