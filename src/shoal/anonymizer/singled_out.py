"""How many rows each kept field singles out: rows whose value, as it is written, belongs to fewer than k persons of the stream.

Memory is bounded. Up to `ROOM` pairs of a value and a person the count is exact. When there are more, every second value, by
its fingerprint, is no longer looked at, then every second of the rest, and so on: what is counted stands for as many times
as much. A value that k persons share needs no list of its persons any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.columns import one_word, texts
from shoal.policy import Policy

ROOM = 16_384
_FEW = 1_024
_TOGETHER = 256
_ODD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class SingledOut:
    """What one field singles out."""

    rows: int  # with a value that fewer than k persons have; an estimate unless `exact`
    of: int  # all rows that have a value
    exact: bool


class KeptField:
    """Counts the persons of each value of a field, by fingerprints.

    >>> field = KeptField(k=2, room=100)
    >>> field.see(np.array([7, 9], np.uint64), np.array([0, 0, 1]), np.array([1, 2, 3], np.uint64))
    >>> field.found
    SingledOut(rows=1, of=3, exact=True)
    """

    def __init__(self, k: int, room: int = ROOM) -> None:
        self._k, self._room = k, room
        self._level = 0  # values are looked at whose lowest bits, so many, are 0
        self._total = 0
        self._rows: dict[int, int] = {}  # how many rows have a value
        self._persons: dict[int, set[int]] = {}  # the persons of a value, by pairs, while they are fewer than k
        self._pairs = 0
        self._rare = 0  # rows with a value of fewer than k persons

    @property
    def found(self) -> SingledOut:
        return SingledOut(min(self._rare << self._level, self._total), self._total, self._level == 0)

    def see(self, values: NDArray[np.uint64], code: NDArray[np.int64], person: NDArray[np.uint64]) -> None:
        """Take in rows: `values` are different fingerprints, 0 for missing; `code` is the place of each row's value."""
        count = np.bincount(code, minlength=len(values))
        self._total += int(count[values != 0].sum())
        looked_at = self._looked_at(values) & (count > 0)
        while looked_at.sum() > self._room:  # they would not find room
            self._look_at_half()
            looked_at &= self._looked_at(values)
        rare = np.zeros(len(values), bool)
        for place in np.flatnonzero(looked_at).tolist():
            value = int(values[place])
            if value not in self._rows:
                self._rows[value], self._persons[value] = 0, set()
            self._rows[value] += int(count[place])
            rare[place] = value in self._persons
            self._rare += int(count[place]) * int(rare[place])
        rows, few = np.flatnonzero(rare[code]), _FEW
        while len(rows):  # a few first: most values that many persons share are common after those
            self._add(values, code, person, rows[:few])
            for place in np.flatnonzero(rare).tolist():
                rare[place] = int(values[place]) in self._persons
            rows, few = rows[few:], len(code)
            rows = rows[rare[code[rows]]]
        while self._pairs + len(self._rows) > self._room:
            self._look_at_half()

    def see_each(self, values: NDArray[np.uint64], person: NDArray[np.uint64]) -> None:
        """Take in rows by the fingerprints of their values, none of them 0; only those that are looked at are sorted."""
        looked_at = np.flatnonzero(self._looked_at(values))
        self._total += len(values) - len(looked_at)
        different, code = np.unique(values[looked_at], return_inverse=True)
        self.see(different, code.ravel(), person[looked_at])

    def _looked_at(self, values: NDArray[np.uint64]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = (values != 0) & (values & np.uint64((1 << self._level) - 1) == 0)
        return found

    def _add(
        self, values: NDArray[np.uint64], code: NDArray[np.int64], person: NDArray[np.uint64], rows: NDArray[np.int64]
    ) -> None:
        with np.errstate(over="ignore"):
            pairs = person[rows] * _ODD ^ values[code[rows]]
        pairs, first = np.unique(pairs, return_index=True)
        for pair, value in zip(pairs.tolist(), values[code[rows[first]]].tolist(), strict=True):
            persons = self._persons.get(value)
            if persons is None or pair in persons:
                continue
            persons.add(pair)
            self._pairs += 1
            if len(persons) >= self._k:
                self._pairs -= len(self._persons.pop(value))
                self._rare -= self._rows[value]

    def _look_at_half(self) -> None:
        self._level += 1
        mask = (1 << self._level) - 1
        self._rows = {value: rows for value, rows in self._rows.items() if not value & mask}
        self._persons = {value: persons for value, persons in self._persons.items() if not value & mask}
        self._count()

    def _count(self) -> None:
        self._pairs = sum(map(len, self._persons.values()))
        self._rare = sum(self._rows[value] for value in self._persons)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Its state, which holds fingerprints alone."""
        sizes = [len(persons) for persons in self._persons.values()]
        pairs = [pair for persons in self._persons.values() for pair in persons]
        return {
            "numbers": np.array([self._level, self._total], np.int64),
            "values": np.array([*self._rows], np.uint64),
            "rows": np.array([*self._rows.values()], np.int64),
            "rare": np.array([*self._persons], np.uint64),
            "sizes": np.array(sizes, np.int64),
            "pairs": np.array(pairs, np.uint64),
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        self._level, self._total = saved["numbers"].tolist()
        self._rows = dict(zip(saved["values"].tolist(), saved["rows"].tolist(), strict=True))
        parts = np.split(saved["pairs"], np.cumsum(saved["sizes"])[:-1]) if len(saved["sizes"]) else []
        self._persons = {value: set(part.tolist()) for value, part in zip(saved["rare"].tolist(), parts, strict=True)}
        self._count()


def one_person(person: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """One word for each person, of two."""
    with np.errstate(over="ignore"):
        found: NDArray[np.uint64] = person[:, 0] * _ODD + person[:, 1]
    return found


def words_as_written(
    column: pa.Array, key: NDArray[np.uint64], is_missing: str | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """The fingerprints of the different values, the last, 0, for null and one other text; and the place of each row's value.

    Values that are published in different ways are different, also if a policy takes them for the same: blanks around a text,
    composed letters, the texts that mean missing.
    """
    if pa.types.is_nested(column.type):
        column = as_written(column)
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    written = as_written(coded.dictionary)
    values = np.append(one_word(written, key), np.uint64(0))
    if is_missing is not None:
        values[:-1][pc.equal(written, is_missing).fill_null(False).to_numpy(zero_copy_only=False)] = 0
    code = coded.indices.cast(pa.int64()).fill_null(len(values) - 1).to_numpy(zero_copy_only=False)
    return values, code


def as_written(column: pa.Array) -> pa.Array:
    """Values as large_string, as they are written.

    >>> as_written(pa.array(["a ", "", None])).to_pylist(), as_written(pa.array([0.5, 7.0])).to_pylist()
    (['a ', '', None], ['0.5', '7'])
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if any(test(kind) for test in (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)):
        return column.cast(pa.large_binary()).view(pa.large_string())  # compared byte by byte, text or not
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return texts(column, ())
    return column.cast(pa.large_string())


class KeptFields:
    """All kept and sensitive fields of a stream, and the time if it is published as it is.

    Single records are counted `_TOGETHER` at a time, or when somebody asks.
    """

    def __init__(self, policy: Policy, key: NDArray[np.uint64]) -> None:
        self._key = key
        self._waiting: list[tuple[pa.RecordBatch, NDArray[np.uint64]]] = []
        self._fields = {name: KeptField(policy.privacy.k) for name in policy.reasons}

    def see(self, kept: pa.RecordBatch, person: NDArray[np.uint64]) -> None:
        """Take in accepted records: the columns that are passed through, and the two words of each person."""
        if not self._fields or not kept.num_rows:
            return
        if self._waiting and not kept.schema.equals(self._waiting[0][0].schema, check_metadata=True):
            self._count()
        self._waiting.append((kept, person))
        if kept.num_rows + len(self._waiting) > _TOGETHER:
            self._count()

    def _count(self) -> None:
        """Count the records that wait for it."""
        if not self._waiting:
            return
        batches, persons = zip(*self._waiting, strict=True)
        self._waiting = []
        kept, person = pa.Table.from_batches(batches), np.concatenate(persons)
        word = one_person(person)
        for name, field in self._fields.items():
            values, code = words_as_written(kept.column(name).combine_chunks(), self._key, is_missing="")
            field.see(values, code, word)

    @property
    def found(self) -> dict[str, SingledOut]:
        self._count()
        return {name: field.found for name, field in self._fields.items()}

    def saved(self) -> dict[str, NDArray[Any]]:
        self._count()
        fields: Iterable[KeptField] = self._fields.values()
        return {f"kept{i}.{name}": array for i, field in enumerate(fields) for name, array in field.saved().items()}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._waiting = []
        for i, field in enumerate(self._fields.values()):
            start = f"kept{i}."
            field.restore({name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)})
