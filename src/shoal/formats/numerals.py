"""Numbers as text: exactly what Python writes, a whole column at a time."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

EXACT = 2.0**53
"""Below this, every whole number is a float64."""


def floats(values: pa.Array, whole: str = ".0") -> pa.Array:
    """The shortest text that reads back as the same float64, as `json.dumps` gives it; `whole` ends whole numbers.

    >>> floats(pa.array([1.0, 0.1, 1e-7, 1e22, None])).to_pylist()
    ['1.0', '0.1', '1e-07', '1e+22', None]
    >>> floats(pa.array([1.0, 2.5, -0.0]), whole="").to_pylist()
    ['1', '2.5', '0']
    """
    if values.null_count == len(values):
        return pa.nulls(len(values), pa.string())
    numbers = values.fill_null(0.0).to_numpy(zero_copy_only=False)
    size = np.abs(numbers)
    is_whole = (size < 1e16) & (numbers == np.trunc(numbers))
    if whole:
        is_whole &= ~((numbers == 0) & np.signbit(numbers))
    plain = ~is_whole & (size >= 1e-4) & (size < 1e9)
    if is_whole.all():
        texts = _whole(numbers, whole)
    else:
        texts = values.fill_null(0.0).cast(pa.string())
        if is_whole.any():
            texts = pc.replace_with_mask(texts, pa.array(is_whole), _whole(numbers[is_whole], whole))
        odd = ~(is_whole | plain)
        if odd.any():
            reprs = pa.array(map(json.dumps, numbers[odd].tolist()), pa.string())
            texts = pc.replace_with_mask(texts, pa.array(odd), reprs)
    return pc.if_else(values.is_valid(), texts, None) if values.null_count else texts


def _whole(numbers: np.ndarray, end: str) -> pa.Array:
    texts = pa.array(numbers.astype(np.int64)).cast(pa.string())
    return pc.binary_join_element_wise(texts, end, "") if end else texts
