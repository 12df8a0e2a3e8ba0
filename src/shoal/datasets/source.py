"""Where a data set lies, and what to do where it does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.csv

from shoal.errors import InputError


class Place(NamedTuple):
    """A file under the data folder, and the page it can be downloaded from."""

    path: str
    page: str

    def within(self, data: Path) -> Path:
        """The file, or the same gzipped.

        Raises
        ------
        InputError
            It is not there; says where it comes from, and where to put it.
        """
        source = found(data / self.path)
        if source is None:
            raise InputError(f"{data / self.path}: is not there; download it from {self.page} and put it there, .gz or not")
        return source


def found(path: Path) -> Path | None:
    """The file, or the same gzipped."""
    return next((place for place in (path, path.with_name(f"{path.name}.gz")) if place.is_file()), None)


def check_hierarchies(home: Path, names: Sequence[str]) -> None:
    """Raise if a hierarchy of these names is not there."""
    for name in names:
        place = home / "hierarchies" / f"{name}.csv"
        if not place.is_file():
            raise InputError(f"{place}: is not there; write its hierarchy, a line a leaf, leaf first, root last, ';' between")


def read(source: Path, types: Mapping[str, pa.DataType], nulls: Sequence[str]) -> pa.Table:
    """The columns of a CSV file that have a type.

    Raises
    ------
    InputError
        It cannot be read so.
    """
    options = pyarrow.csv.ConvertOptions(
        column_types=types, include_columns=list(types), null_values=list(nulls), strings_can_be_null=True
    )
    try:
        return pyarrow.csv.read_csv(source, convert_options=options)
    except (pa.ArrowException, OSError):
        raise InputError(f"{source}: cannot be read; download it again") from None
