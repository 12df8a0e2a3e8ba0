"""What the sample says about one field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.columns.convert import numbers, texts, times, unreadable
from shoal.infer.sample import Field

ALMOST = 0.9
FEWEST = 20
LATEST = 9e12  # seconds
_PADDED = re.compile(r"[+-]?0[0-9]+(\..*)?")


class Column:
    """A field whose values are looked at as a run would read them."""

    def __init__(self, field: Field, nulls: Sequence[str]) -> None:
        self.name = field.name
        self.nested = field.nested
        self._arrays = field.arrays
        self._nulls = tuple(nulls)

    @cached_property
    def text(self) -> pa.Array:
        """Each row's text, null where it is missing."""
        parts = [texts(array, self._nulls).cast(pa.large_string()) for array in self._arrays]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.large_string())

    @cached_property
    def _coded(self) -> pa.DictionaryArray:
        return self.text.dictionary_encode()

    @cached_property
    def values(self) -> list[str]:
        """The different texts."""
        return self._coded.dictionary.to_pylist()

    @cached_property
    def codes(self) -> NDArray[np.int64]:
        """Each row's place in `values`; -1 where it is missing."""
        return self._coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)

    @property
    def rows(self) -> int:
        return len(self.text)

    @property
    def missing(self) -> int:
        return self.text.null_count

    @property
    def known(self) -> int:
        return self.rows - self.missing

    @property
    def is_almost_unique(self) -> bool:
        return self.known >= FEWEST and len(self.values) >= ALMOST * self.known

    @cached_property
    def is_unreadable(self) -> bool:
        return any(bool(unreadable(array).any()) for array in self._arrays)

    @cached_property
    def is_moment(self) -> bool:
        """Whether its type, not only its text, is that of a date or a time of day."""
        return any(pa.types.is_temporal(array.type) for array in self._arrays)

    @cached_property
    def numbers(self) -> NDArray[np.float64] | None:
        """The values that are there, if all of them are numbers."""
        found = numbers(self.text, self._nulls)
        return None if self.is_moment or found.wrong.any() else found.values[~np.isnan(found.values)]

    @cached_property
    def share_of_numbers(self) -> float:
        found = numbers(self.text, self._nulls)
        return 1 - float(found.wrong.sum()) / max(self.known, 1)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all are whole numbers."""
        return self.numbers is not None and bool((np.trunc(self.numbers) == self.numbers).all())

    @cached_property
    def is_padded(self) -> bool:
        """Whether some are written with leading zeros, as codes are."""
        return any(map(_PADDED.fullmatch, self.values))

    @cached_property
    def seconds(self) -> NDArray[np.float64] | None:
        """The values as times, if each row has one."""
        found = [times(array, self._nulls) for array in self._arrays]
        values = np.concatenate([part.values for part in found]) if found else np.empty(0)
        wrong = any(bool(part.wrong.any()) for part in found)
        return None if wrong or not (np.abs(values) <= LATEST).all() else values


def persons(column: Column | None, rows: int) -> NDArray[np.int64]:
    """A number for each row's person; a row without one is its own."""
    if column is None:
        return np.arange(rows)
    return np.where(column.codes < 0, len(column.values) + np.arange(rows), column.codes)


def support(column: Column, person: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many persons have each of the column's values."""
    pairs = np.unique(np.stack([column.codes, person]), axis=1)[0]
    return np.bincount(pairs[pairs >= 0], minlength=len(column.values))
