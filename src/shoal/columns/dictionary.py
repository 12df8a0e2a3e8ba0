"""Dictionaries that hold what their rows show, and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa


def only_used(array: pa.Array) -> pa.Array:
    """The same values; a dictionary loses its other entries, which may come from records that are not published.

    >>> only_used(pa.DictionaryArray.from_arrays([1, None, 1], ["secret", "flu"])).dictionary.to_pylist()
    ['flu']
    """
    if not pa.types.is_dictionary(array.type):
        return array
    nothing = len(array.dictionary)
    indices = array.indices.cast(pa.int64()).fill_null(nothing).to_numpy()
    is_used = np.zeros(nothing + 1, bool)
    is_used[indices] = True
    if is_used[:-1].all():
        return array
    places = np.cumsum(is_used) - 1
    codes = pa.array(places[indices], mask=indices == nothing).cast(array.indices.type)
    entries = array.dictionary.filter(pa.array(is_used[:-1]))
    return pa.DictionaryArray.from_arrays(codes, entries, ordered=array.type.ordered)
