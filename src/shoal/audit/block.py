"""Some rows of a file, column by column."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
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
