"""Values that lie in the dictionaries of a file and that no row shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Spare:
    """Looks through the dictionaries of a column, and of what is nested in it, block by block; `public` values may lie there.

    >>> spare = Spare(["Norway"])
    >>> spare.take(pa.DictionaryArray.from_arrays([0, 0], ["France", "Norway", "Jane"]))
    >>> spare.count()
    1
    """

    def __init__(self, public: Iterable[str]) -> None:
        self._held: set[Any] = set()
        self._shown: set[Any] = set(public)

    def take(self, column: pa.Array) -> None:
        """Look at a block of the column."""
        if pa.types.is_struct(column.type):
            for inner in column.flatten():
                self.take(inner)
        elif pa.types.is_map(column.type):
            self.take(column.keys)
            self.take(column.items)
        elif pa.types.is_nested(column.type) and hasattr(column, "flatten"):
            self.take(column.flatten())
        elif pa.types.is_dictionary(column.type):
            used = np.zeros(len(column.dictionary), bool)
            used[pc.unique(column.indices).drop_null().to_numpy()] = True
            self._held.update(column.dictionary.filter(pa.array(~used)).drop_null().to_pylist())
            self._shown.update(column.dictionary.filter(pa.array(used)).to_pylist())

    def count(self) -> int:
        """How many values no row shows."""
        return len(self._held - self._shown)
