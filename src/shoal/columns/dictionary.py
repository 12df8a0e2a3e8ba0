"""Dictionaries that hold what their rows show, and nothing else."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from shoal.columns.spread import marked


def only_used(array: pa.Array) -> pa.Array:
    """The same values; a dictionary loses its other entries, which may come from records that are not published.

    >>> only_used(pa.DictionaryArray.from_arrays([1, None, 1], ["secret", "flu"])).dictionary.to_pylist()
    ['flu']
    """
    if not pa.types.is_dictionary(array.type):
        return array
    is_used = marked(array.indices, len(array.dictionary))
    if is_used.all():
        return array
    places = pa.array(np.maximum(np.cumsum(is_used) - 1, 0), array.indices.type)
    entries = array.dictionary.filter(pa.array(is_used))
    return pa.DictionaryArray.from_arrays(places.take(array.indices), entries, ordered=array.type.ordered)
