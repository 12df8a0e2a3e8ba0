"""Kept and sensitive fields of a sample: do they look like identifiers, and how many rows do their values single out?

Values are compared as they are written, since they are published so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.anonymizer import as_written
from shoal.columns import numbers, texts, unreadable
from shoal.policy import Policy
from shoal.recognize import direct, form, is_identifier, stable_persons
from shoal.text import percent

MOST = 0.5  # of the rows, with values of too few persons: from here on it is a problem
ENOUGH = 10  # times k persons; a sample with fewer says little about the stream
_LIKE = 0.05  # of the values, that look like identifiers
_LOOKED_AT = 10_000  # different values


class Found(NamedTuple):
    """One line, and whether it is a problem or a warning."""

    line: str
    is_problem: bool


class KeptCheck:
    """Collects the values that would be published as they are, and the persons they belong to."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._values: dict[str, list[pa.Array]] = {name: [] for name in policy.reasons}
        self._persons: list[NDArray[np.uint64]] = []

    def take(self, kept: pa.RecordBatch, person: NDArray[np.uint64]) -> None:
        """Take in accepted records: the columns that are passed through, and the fingerprints of the persons."""
        self._persons.append(person)
        for name, found in self._values.items():
            found.append(as_written(kept.column(name)))

    def found(self, least: int, complete: bool) -> Iterator[Found]:
        """What is wrong with fields for which the policy gives no reason; a value of fewer than `least` persons is rare."""
        if not any(map(len, self._persons)):
            return
        person = np.unique(np.concatenate(self._persons), axis=0, return_inverse=True)[1].ravel()
        persons = int(person.max()) + 1
        for name, arrays in self._values.items():
            if self._policy.reasons[name] is None:
                yield from self._field(name, pa.chunked_array(arrays), person, persons, least, complete)

    def unstated(self) -> Iterator[str]:
        """Sensitive fields that do not change for persons who come back, and that the policy does not declare stable."""
        if not any(map(len, self._persons)) or self._policy.person is None:
            return
        person = np.unique(np.concatenate(self._persons), axis=0, return_inverse=True)[1].ravel()
        for name, arrays in self._values.items():
            attribute = self._policy.attributes.get(name)
            if attribute and attribute.sensitive and not attribute.stable:
                text = texts(_whole(pa.chunked_array(arrays)), self._policy.nulls_of(name))
                found = stable_persons(_codes(text.dictionary_encode()), person)
                if found:
                    share = f"does not change for {percent(found[0], digits=0)} of the {found[1]:,} persons who come back"
                    remedy = "declare it stable: true, as: block, bag or exact"
                    yield f"'{name}': {share}, so that their releases add up to it; {remedy}"

    def _field(
        self, name: str, column: pa.ChunkedArray, person: NDArray[np.int64], persons: int, least: int, complete: bool
    ) -> Iterator[Found]:
        coded = _coded(pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.large_string()), column))
        code = _codes(coded)
        known = int((code >= 0).sum())
        if not known:
            return
        kind = self._kind(name, coded.dictionary)
        if kind:
            yield Found(f"'{name}': looks like {kind}, and is published as it is; {self._remedy(name)}", True)
            return
        if persons < least:
            return
        rare = int((_support(code, person) < least).sum()) - (len(code) - known)
        if rare < MOST * known and name in self._policy.counted and pc.count_distinct(column, "all").as_py() > 1:
            differ = f"rows of a group that differ in it look like fewer than {least} persons"
            yield Found(f"'{name}': is published as it is, and no group hides it: {differ}; {self._remedy(name)}", False)
        if not rare:
            return
        line = f"'{name}': {rare:,} of {known:,} rows have a value that fewer than {least} persons have"
        if rare < MOST * known:
            yield Found(f"{line}; it is published as it is, and may single them out", False)
        elif complete or persons >= ENOUGH * least:
            yield Found(f"{line}, and it is published as it is; {self._remedy(name)}", True)
        else:
            yield Found(f"{line}; the sample is too short to know whether that is so in all data", False)

    def _kind(self, name: str, values: pa.Array) -> str | None:
        """The kind of identifier that a field looks like, by its name or by the form of its values."""
        if self._policy.time and name == self._policy.time.field:
            return None
        by_name = direct(name) or ("identifiers" if is_identifier(name) else None)
        if by_name:
            return f"{by_name}, by its name"
        nulls = self._policy.nulls_of(name)
        values = values.filter(pa.array(~unreadable(values.view(pa.large_binary()))))  # of bytes, those that are text
        if not numbers(values, nulls).wrong.any():
            return None
        some = texts(values.slice(0, _LOOKED_AT), nulls).drop_null().to_pylist()
        alike = [value for value in some if form([value]) not in (None, "dates")]
        return f"{form(alike)}, by its values" if alike and len(alike) >= _LIKE * len(some) else None

    def _remedy(self, name: str) -> str:
        attribute = self._policy.attributes.get(name)
        if attribute is None:
            return 'use publish: generalize or drop, or say why: time: {publish: {keep: true, because: "…"}}'
        why = 'sensitive: true, because: "…"' if attribute.sensitive else 'publish: {keep: true, because: "…"}'
        return f"remove it, make it a quasi-identifier, or say why it may be: {{{why}}}"


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _coded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    return _whole(column).dictionary_encode()


def _codes(coded: pa.DictionaryArray) -> NDArray[np.int64]:
    """A number for each different value, -1 for what is missing."""
    return coded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)


def _support(code: NDArray[np.int64], person: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many persons have each row's value; 0 for rows without one.

    >>> _support(np.array([0, 0, 1, -1]), np.array([7, 8, 7, 7])).tolist()
    [2, 2, 1, 0]
    """
    width = int(person.max()) + 1
    pairs = np.unique(code[code >= 0] * width + person[code >= 0])
    count = np.append(np.bincount(pairs // width), 0)
    return np.where(code < 0, 0, count[code])
