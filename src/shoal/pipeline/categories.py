"""The different values of one field of a file, as a hierarchy must hold them."""

from __future__ import annotations

from collections.abc import Collection
from os import PathLike, fspath

from shoal.columns.convert import column, texts
from shoal.errors import InputError
from shoal.formats import open_reader


def categories(source: str | PathLike[str], field: str, nulls: Collection[str] = ("",)) -> list[str]:
    """The values of the field, in order of appearance; what means missing is left out.

    Raises
    ------
    InputError
        The file cannot be read, or no record has the field.
    """
    path = fspath(source)
    found: dict[str, None] = {}
    with open_reader(path, [field]) as reader:
        for block in reader:
            text = texts(column(block.batch, field), tuple(nulls)).drop_null()
            found.update(dict.fromkeys(text.unique().to_pylist()))
    if not found:
        raise InputError(f"{path}: {field!r} is absent, or missing in all rows; correct the name of the field")
    return list(found)
