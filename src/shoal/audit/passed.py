"""Columns that are passed through, and values that lie in a dictionary without being shown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.audit.textfiles import texts_of
from shoal.audit.values import is_text


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


class Passed:
    """Collects a column; of texts, if its type changes on the way."""

    def __init__(self) -> None:
        self._parts: list[pa.Array] = []
        self._unused: set[Any] = set()
        self._nested = Spare(())

    def take(self, column: pa.Array) -> None:
        """Add a block of the column."""
        if pa.types.is_nested(column.type):
            self._nested.take(column)
        if pa.types.is_dictionary(column.type):
            used = pc.unique(column.indices).drop_null()
            if len(used) < len(column.dictionary):
                rest = np.delete(np.arange(len(column.dictionary)), used.to_numpy())
                self._unused.update(column.dictionary.take(pa.array(rest)).drop_null().to_pylist())
        if pa.types.is_dictionary(column.type) and not is_text(column.type):
            column = column.cast(column.type.value_type)
        if is_text(column.type):
            column = _compact(column)
        self._parts.append(column)

    def done(self) -> pa.ChunkedArray:
        """The whole column."""
        kinds = {part.type for part in self._parts if not pa.types.is_null(part.type)}
        if not kinds:
            return pa.chunked_array(self._parts or [pa.nulls(0)])
        if len(kinds) == 1:
            kind = kinds.pop()
            parts = [part.cast(kind) if pa.types.is_null(part.type) else part for part in self._parts]
            whole = pa.chunked_array(parts)
            return whole.unify_dictionaries() if pa.types.is_dictionary(kind) else whole
        numbers = all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds)
        if numbers:
            return pa.chunked_array([part.cast(pa.float64(), safe=False) for part in self._parts])
        return pa.chunked_array([texts_of(part) for part in self._parts], pa.string())

    def spare(self, whole: pa.ChunkedArray) -> int:
        """How many values the dictionaries of the blocks hold that no row of the whole column shows."""
        if not self._unused:
            return self._nested.count()
        used: set[Any] = set()
        for chunk in whole.chunks:
            is_coded = pa.types.is_dictionary(chunk.type)
            values = chunk.dictionary.take(pc.unique(chunk.indices).drop_null()) if is_coded else pc.unique(chunk)
            used.update(values.to_pylist())
        return len({each.decode("utf-8", "replace") if isinstance(each, bytes) else each for each in self._unused} - used)


def _compact(column: pa.Array) -> pa.Array:
    """Texts as a dictionary of strings; as bytes where they are not UTF-8."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    values = column.dictionary
    try:
        values = values.cast(pa.string())
    except pa.ArrowInvalid:
        values = values.cast(pa.binary())
    return pa.DictionaryArray.from_arrays(column.indices.cast(pa.int32()), values)
