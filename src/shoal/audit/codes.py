"""Values of a column as small numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


class Codes(NamedTuple):
    """A number for each different value, in their order, whatever file they came from; what is missing comes first."""

    code: NDArray[np.int64]
    ordered: bool


def codes(column: pa.ChunkedArray) -> Codes:
    """The codes of a column; texts that are all numbers are numbers.

    >>> codes(pa.chunked_array([["10", "9", None, "10"]]))
    Codes(code=array([2, 1, 0, 2]), ordered=True)
    >>> codes(pa.chunked_array([["flu", None, "flu"]]))
    Codes(code=array([1, 0, 1]), ordered=False)
    """
    if pa.types.is_nested(column.type):
        column = pa.chunked_array([pa.array([None if each is None else repr(each) for each in column.to_pylist()])])
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if not pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode()
    place = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    number = _numbers(whole.dictionary)
    rank = _ranks(whole.dictionary) if number is None else np.unique(number, return_inverse=True)[1]
    return Codes(np.append(rank, -1)[place] + 1, number is not None)


def _ranks(values: pa.Array) -> NDArray[np.int64]:
    if not pa.types.is_string(values.type) and not pa.types.is_binary(values.type):
        values = values.cast(pa.string())
    return pc.rank(values, tiebreaker="dense").to_numpy(zero_copy_only=False).astype(np.int64) - 1


def _numbers(values: pa.Array) -> NDArray[np.float64] | None:
    if pa.types.is_boolean(values.type) or pa.types.is_null(values.type) or not len(values):
        return None
    try:
        return pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
