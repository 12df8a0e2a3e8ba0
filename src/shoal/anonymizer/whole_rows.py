"""How many published rows look like fewer than k persons, since fields that are published as they are tell them apart.

k holds for the generalizations of a group. A field that is kept without a reason is part of the row too, and no group hides it.
Rows look alike if all of this is the same, as it is written. Memory is bounded as for single fields: see `singled_out`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.released import ReleasedGroups, ReleasedTuples
from shoal.anonymizer.singled_out import KeptField, SingledOut, one_person, words_as_written
from shoal.columns import PERSON
from shoal.policy import Policy

_ODD = 0x9E3779B97F4A7C15
_PREFIX = "whole."
_SUPPRESSED = np.uint64(0xFFFFFFFFFFFFFFFF)

Words = NDArray[np.uint64]


class WholeRows:
    """Counts the persons of each look of a row; there is nothing to count if every kept field has a reason."""

    def __init__(self, policy: Policy, key: Words) -> None:
        self.names = policy.counted
        self._key = key
        self._quasi = len(policy.quasi)
        self._sets = _places_of_sets(policy)
        self._blurs = np.uint64(policy.privacy.nulls_match == "blurred")
        self._timed = policy.time_grid is not None
        self._shows_suppressed = policy.suppressed == "publish"
        self._has_persons = bool(policy.bags)  # they are there already
        self._field = KeptField(policy.privacy.k)

    @property
    def found(self) -> SingledOut | None:
        return self._field.found if self.names else None

    def with_persons(self, kept: pa.RecordBatch, person: Words) -> pa.RecordBatch:
        """The columns that wait with the tuples, with the persons."""
        if not self.names or self._has_persons:
            return kept
        return kept.append_column(PERSON, pa.array(one_person(person)))

    def see(self, tuples: ReleasedTuples, groups: ReleasedGroups, kept: pa.Table, person: Words) -> None:
        """Take in rows that leave: what they show, the columns that are published as they are, and the persons."""
        rows = np.arange(len(tuples.group)) if self._shows_suppressed else np.flatnonzero(tuples.group >= 0)
        if not len(rows):
            return
        word = self._look(ReleasedTuples._make(column[rows] for column in tuples), groups)
        for name in self.names:
            values, code = words_as_written(kept.column(name).take(pa.array(rows)).combine_chunks(), self._key)
            word = _mixed(word * np.uint64(_ODD) + values[code])
        self._field.see_each(np.maximum(word, np.uint64(1)), person[rows])

    def _look(self, tuples: ReleasedTuples, groups: ReleasedGroups) -> Words:
        """A word for what each row shows besides the kept fields."""
        suppressed = tuples.group < 0
        found = _mixed(tuples.pattern.astype(np.uint64))
        if len(groups.number):
            for q in range(self._quasi):
                doubt = groups.doubt >> np.uint64(q) & self._blurs
                ends = [groups.low[:, q], groups.high[:, q]]
                shown = [groups.nodes[:, place] for place in self._sets[q]] if q in self._sets else list(map(_bits, ends))
                is_shown = (tuples.pattern >> np.uint64(q) & np.uint64(1)).astype(bool)
                found += np.where(is_shown, _together([doubt, *shown], q)[tuples.group], np.uint64(0))
            if self._timed:
                found += _together([_bits(groups.early), _bits(groups.late)], self._quasi)[tuples.group]
        return np.where(suppressed, _SUPPRESSED, _mixed(found))

    def saved(self) -> dict[str, NDArray[Any]]:
        """Its state, which holds fingerprints alone."""
        return {f"{_PREFIX}{name}": array for name, array in self._field.saved().items()} if self.names else {}

    def restore(self, arrays: Mapping[str, NDArray[Any]], names: object) -> None:
        """Go on from a snapshot, if it counted the same fields: a reason may have been added since, or taken away."""
        if self.names and list(self.names) == names:
            self._field.restore({n.removeprefix(_PREFIX): array for n, array in arrays.items() if n.startswith(_PREFIX)})

    def fitted(self, kept: pa.Table) -> pa.Table:
        """Waiting columns of a snapshot, with persons or without; persons that are not known count as one."""
        has_persons, needs = PERSON in kept.column_names, bool(self.names) or self._has_persons
        if has_persons and not needs:
            return kept.drop_columns([PERSON])
        if needs and not has_persons:
            return kept.append_column(PERSON, pa.array(np.zeros(kept.num_rows, np.uint64)))
        return kept


def _places_of_sets(policy: Policy) -> dict[int, range]:
    """Which words of a group's sets are those of each quasi-identifier that is published as a set (`blocks.domain`)."""
    found, start = {}, 0
    for q, (_, attribute) in enumerate(policy.quasi):
        if attribute.hierarchy and attribute.sets:
            words = len(attribute.hierarchy.labels) // 64 + 1
            found[q] = range(start, start + words)
            start += words
    return found


def _bits(numbers: NDArray[np.float64]) -> Words:
    return (np.ascontiguousarray(numbers) + 0.0).view(np.uint64)


def _together(columns: list[Words], place: int) -> Words:
    """One word of several, different at each place."""
    found = np.full(len(columns[0]), (place + 1) * _ODD % 2**64, np.uint64)
    for column in columns:
        found = _mixed(found * np.uint64(_ODD) + column)
    return found


def _mixed(word: Words) -> Words:
    """The finalizer of SplitMix64."""
    found = word ^ (word >> np.uint64(30))
    found *= np.uint64(0xBF58476D1CE4E5B9)
    found ^= found >> np.uint64(27)
    found *= np.uint64(0x94D049BB133111EB)
    found ^= found >> np.uint64(31)
    return found
