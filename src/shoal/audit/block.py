"""Some rows of a file as columns, and fields inside fields: `payload.patient.age`."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.audit.written import Text

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


def opened(path: str, encoding: str = "utf-8") -> BinaryIO:
    """A file's bytes as UTF-8, unpacked if its name says that they are packed."""
    file: Any
    match Path(path).suffix.lower():
        case ".gz":
            file = gzip.GzipFile(path)
        case ".bz2":
            file = bz2.BZ2File(path)
        case ".xz":
            file = lzma.LZMAFile(path)  # noqa: SIM115
        case ".zst":
            file = pa.input_stream(path, compression="zstd")
        case _:
            file = Path(path).open("rb")  # noqa: SIM115
    return cast(BinaryIO, io.BufferedReader(Text(file, encoding), BYTES))


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
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def inside(columns: Mapping[str, pa.Array], name: str) -> pa.Array | None:
    """The column of a field that lies in the structs of another."""
    first, *steps = name.split(".")
    column = columns.get(first) if steps else None
    for step in steps:
        if column is not None and pa.types.is_nested(column.type) and not pa.types.is_struct(column.type) and step.isdecimal():
            column = _entry(column, int(step))
            continue
        if column is None or not pa.types.is_struct(column.type) or column.type.get_field_index(step) < 0:
            return None
        column = pc.struct_field(column, step)
    return column


def _entry(column: pa.Array, place: int) -> pa.Array | None:
    """The entries of lists at a place, null where a list is shorter."""
    if pa.types.is_map(column.type):
        return None
    entries = [None if each is None or place >= len(each) else each[place] for each in column.to_pylist()]
    return pa.array(entries, column.type.value_type)
