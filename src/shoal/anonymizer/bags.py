"""Bags: exact values of stable attributes, apart from the rows, shuffled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.engine import BAG_SCHEMA, NO_BAGS
from shoal.anonymizer.snapshot import streamed
from shoal.policy import Policy


class Bag:
    """The values of one attribute that wait for their bag.

    A bag is full at the first tuple with which it has enough values and enough persons. With `most`, further values of a
    person who has so many in it are left out. Its values are shuffled with a key that nobody sees, so that the same stream
    gives the same bags again after a crash.

    >>> values, persons = pa.array([*"abcdef"]), np.array([7, 7, 7, 9, 9, 9])
    >>> [(number, sorted(values.to_pylist())) for number, values in Bag(3, persons=2, key=[1, 2]).add(values, persons)]
    [(1, ['a', 'b', 'c', 'd'])]
    >>> [(number, sorted(values.to_pylist())) for number, values in Bag(4, 2, key=[1, 2], most=2).add(values, persons)]
    [(1, ['a', 'b', 'd', 'e'])]
    """

    def __init__(self, least: int, persons: int, key: list[int], most: int | None = None) -> None:
        self._least, self._persons, self._key, self._most = least, persons, key, most
        self.number = 0  # of the last full bag
        self.values: pa.Array = pa.array([], pa.string())
        self.persons = np.zeros(0, np.uint64)

    def add(self, values: pa.Array, persons: NDArray[np.uint64]) -> list[tuple[int, pa.Array]]:
        """Add values, in the order in which their rows leave; the result is the bags that are full now, with their numbers."""
        self.values = pa.concat_arrays([self.values, values])
        self.persons = np.concatenate([self.persons, persons])
        full = []
        while True:
            if self._most is not None:
                self._limit(self._most)
            if (size := self._size()) is None:
                break
            self.number += 1
            order = np.random.default_rng([*self._key, self.number]).permutation(size)
            full.append((self.number, self.values.slice(0, size).take(pa.array(order))))
            self.values, self.persons = pa.concat_arrays([self.values.slice(size)]), self.persons[size:].copy()
        return full

    def _limit(self, most: int) -> None:
        """Leave out what is too much of one person, up to where the bag is full: behind that, the next one begins."""
        order = np.argsort(self.persons, kind="stable")
        own = self.persons[order]
        begins = np.flatnonzero(np.append(True, own[1:] != own[:-1]))[: len(own)]
        before = np.empty(len(order), np.int64)  # how many values of the same person stand before each
        before[order] = np.arange(len(order)) - np.repeat(begins, np.diff(begins, append=len(order)))
        some = before < most
        full = np.flatnonzero(some)[self._least - 1 : self._least]
        some[full[0] + 1 if len(full) else len(some) :] = True
        if not some.all():
            self.values, self.persons = self.values.filter(pa.array(some)), self.persons[some]

    def _size(self) -> int | None:
        """How many of the values that wait make a full bag; None if all together do not."""
        if len(self.persons) < self._least:
            return None
        first = np.unique(self.persons, return_index=True)[1]
        if len(first) < self._persons:
            return None
        return max(self._least, int(np.sort(first)[self._persons - 1]) + 1)


class Bags:
    """The bags of all attributes that are published so."""

    def __init__(self, policy: Policy, key: NDArray[np.uint64]) -> None:
        k = policy.privacy.k
        self._bags = {
            name: Bag(least, k, [*key.tolist(), number], least // k if policy.one_in_k else None)
            for number, (name, least) in enumerate(policy.bags.items())
        }
        self._full: list[pa.RecordBatch] = []

    def add(self, kept: pa.Table, persons: NDArray[np.uint64]) -> None:
        """Add the values of tuples that leave; a value that is missing, or blanked with a suppressed tuple, is in no bag."""
        for name, bag in self._bags.items():
            column = kept.column(name).combine_chunks()
            column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
            there = column.is_valid()
            for number, values in bag.add(
                column.cast(pa.string()).filter(there), persons[there.to_numpy(zero_copy_only=False)]
            ):
                columns = [pa.array([name] * len(values)), pa.array(np.full(len(values), number)), values]
                self._full.append(pa.RecordBatch.from_arrays(columns, schema=BAG_SCHEMA))

    def take(self) -> pa.RecordBatch:
        """The bags that became full since the last call."""
        full, self._full = self._full, []
        return pa.Table.from_batches(full, BAG_SCHEMA).combine_chunks().to_batches()[0] if full else NO_BAGS

    @property
    def held(self) -> dict[str, int]:
        """How many values of each attribute wait for a full bag."""
        return {name: len(bag.persons) for name, bag in self._bags.items()}

    def saved(self) -> dict[str, NDArray[Any]]:
        found: dict[str, NDArray[Any]] = {}
        for number, bag in enumerate(self._bags.values()):
            values = np.frombuffer(streamed(pa.table({"value": bag.values})), np.uint8)
            found |= {f"bag{number}.values": values, f"bag{number}.persons": bag.persons}
            found[f"bag{number}.number"] = np.array([bag.number])
        return found

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        for number, bag in enumerate(self._bags.values()):
            table = pa.ipc.open_stream(arrays[f"bag{number}.values"].tobytes()).read_all()
            bag.values = pa.concat_arrays([pa.array([], pa.string()), *table.column("value").chunks])
            bag.persons, bag.number = arrays[f"bag{number}.persons"], int(arrays[f"bag{number}.number"][0])
