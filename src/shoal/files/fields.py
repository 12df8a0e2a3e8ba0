"""Some fields of a file: the distinct values of one, or observations (time, user, item)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from os import PathLike, fspath
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns import column, texts, times
from shoal.errors import InputError
from shoal.formats import field_names, open_reader

NULLS = ("",)


def distinct_values(source: str | PathLike[str], field: str, nulls: Collection[str] = NULLS) -> list[str]:
    """The distinct values of a field as text, in order of appearance, without those that mean missing.

    Raises InputError if the file cannot be read, or no record has the field.
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


class Events(NamedTuple):
    """Observations as arrays: seconds, and codes of users and items; and how many rows were left out."""

    time: NDArray[np.float64]
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    left_out: int


def read_events(path: str, person: str, item: Sequence[str], time: str, rows: int) -> Events:
    """At most `rows` observations. Rows without a user, an item or a time are left out; several item fields make one item."""
    fields = list(dict.fromkeys([time, person, *item]))
    if path != "-":
        known = field_names(path)
        options = {time: "--time", person: "--person", **dict.fromkeys(item, "--item")}
        for field in fields:
            if field not in known:
                raise InputError(f"{path}: has no field '{field}'; name the one that it has with {options[field]}")
    seconds: list[NDArray[np.float64]] = []
    parts: dict[str, list[pa.Array]] = {field: [] for field in (person, *item)}
    bad = count = 0
    with open_reader(path, fields) as reader:
        for block in reader:
            batch = block.batch.slice(0, rows - count)
            seconds.append(times(column(batch, time), NULLS).values)
            for field, found in parts.items():
                found.append(texts(column(batch, field), NULLS).cast(pa.large_string()))
            bad += len(block.bad)
            count += batch.num_rows
            if count >= rows:
                break
    moment = np.concatenate(seconds) if seconds else np.empty(0)
    user = _codes(parts[person])
    items = [_codes(parts[field]) for field in item]
    is_whole = np.isfinite(moment) & (user >= 0) & np.all([codes >= 0 for codes in items], axis=0)
    if not is_whole.any():
        raise InputError(f"{path}: no row has a user, an item and a time; name the fields with --person, --item and --time")
    joined = items[0][is_whole]
    if len(items) > 1:
        joined = np.unique(np.stack(items)[:, is_whole], axis=1, return_inverse=True)[1].ravel()
    return Events(moment[is_whole], user[is_whole], np.asarray(joined, np.int64), bad + int((~is_whole).sum()))


def _codes(arrays: list[pa.Array]) -> NDArray[np.int64]:
    """Each value's code, -1 where it is missing."""
    coded = pa.chunked_array(arrays, pa.large_string()).combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    return coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
