"""Observations read from a file: when, who, what."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns.convert import column, texts, times
from shoal.errors import InputError
from shoal.formats import field_names, open_reader

NULLS = ("",)


class Events(NamedTuple):
    """Seconds, and numbers that tell users and items apart; and how many rows had to be left out."""

    time: NDArray[np.float64]
    user: NDArray[np.int64]
    item: NDArray[np.int64]
    left_out: int


def read(path: str, person: str, item: Sequence[str], time: str, rows: int) -> Events:
    """At most so many rows; one without a user, an item or a time is left out. Several item fields together make the item."""
    fields = list(dict.fromkeys([time, person, *item]))
    if path != "-":
        known = field_names(path)
        options = {time: "--time", person: "--person", **dict.fromkeys(item, "--item")}
        for field in fields:
            if field not in known:
                raise InputError(f"{path}: has no field '{field}'; name the one that it has with {options[field]}")
    seconds: list[NDArray[np.float64]] = []
    parts: dict[str, list[pa.Array]] = {field: [] for field in (person, *item)}
    bad = left = 0
    with open_reader(path, fields) as reader:
        for block in reader:
            batch = block.batch.slice(0, rows - left)
            seconds.append(times(column(batch, time), NULLS).values)
            for field, found in parts.items():
                found.append(texts(column(batch, field), NULLS).cast(pa.large_string()))
            bad += len(block.bad)
            left += batch.num_rows
            if left >= rows:
                break
    moment = np.concatenate(seconds) if seconds else np.empty(0)
    user = _codes(parts[person])
    what = [_codes(parts[field]) for field in item]
    there = np.isfinite(moment) & (user >= 0) & np.all([codes >= 0 for codes in what], axis=0)
    if not there.any():
        raise InputError(f"{path}: no row has a user, an item and a time; name the fields with --person, --item and --time")
    joined = np.unique(np.stack(what)[:, there], axis=1, return_inverse=True)[1].ravel() if len(what) > 1 else what[0][there]
    return Events(moment[there], user[there], np.asarray(joined, np.int64), bad + int((~there).sum()))


def _codes(arrays: list[pa.Array]) -> NDArray[np.int64]:
    """Each value's number, -1 where it is missing."""
    coded = pa.chunked_array(arrays, pa.large_string()).combine_chunks().dictionary_encode()
    if isinstance(coded, pa.ChunkedArray):
        coded = coded.combine_chunks()
    return coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
