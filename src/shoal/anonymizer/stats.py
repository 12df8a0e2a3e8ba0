"""What an anonymizer has done so far, in figures that say nothing about any person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.anonymizer.singled_out import SingledOut
from shoal.path import ABSENT, head, in_batch, in_record

MOST = 1000
"""The highest number of new fields that is counted; a stream may invent names without end."""

_FAULTS = ("too_small", "uncovered", "crowded", "thin", "uniform", "late", "twice")


@dataclass(frozen=True)
class Drift:
    """How the fields of the records differ from the fields in the policy and from those of the first batch.

    New fields are counted, but never named, because a name may be data.
    """

    new: int = 0  # fields that the first batch did not have; they are ignored
    absent: Mapping[str, int] = field(default_factory=dict)  # for each field of the policy: how many records lack it

    def __bool__(self) -> bool:
        return bool(self.new or self.absent)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """The figures of a window algorithm, which holds tuples until they leave in a group."""

    received: int
    rejected: int
    reasons: Mapping[str, int]  # why records were rejected, and how many
    held: int
    released: int
    groups: int
    clustered: int
    reused: int
    suppressed: int
    loss: float  # the mean loss of the released tuples, as they were published
    doubt: float  # the share of the quasi-identifiers of all tuples in groups that are published as "or missing"
    withheld: int  # sensitive values that were published as null, because their group did not meet what l or t asks
    smallest_group: int | None  # persons, at the moment of publication
    longest_wait: float | None  # arrivals under count and buffer windows, seconds under time windows
    stretched: int  # tuples that waited longer than the window, because it held fewer than k persons
    over_budget: int = 0  # records beyond `releases`: dropped, or without their sensitive values, as the policy says
    kept: Mapping[str, SingledOut] = field(default_factory=dict, compare=False)  # by kept or sensitive field
    below_k: SingledOut | None = field(default=None, compare=False)  # rows of fewer than k persons, with `Policy.counted`
    faults: Mapping[str, int]  # releases that the door stopped, by reason; empty unless an algorithm has a bug
    drift: Drift = field(default_factory=Drift, compare=False)  # depends on how the stream is cut into batches

    @property
    def accepted(self) -> int:
        return self.held + self.released


@dataclass(frozen=True, kw_only=True)
class FilterStats:
    """The figures of z-anonymity, which releases or withholds each observation at once."""

    received: int
    rejected: int
    reasons: Mapping[str, int]  # why records were rejected, and how many
    released: int  # with the item itself, or with a generalization of it
    generalized: int  # how many of the released ones show a generalization
    withheld: int
    z: int | None  # the current z; None while a tuned z is not known yet and nothing is released
    drift: Drift = field(default_factory=Drift, compare=False)  # depends on how the stream is cut into batches

    @property
    def accepted(self) -> int:
        return self.received - self.rejected


def stats(received: int, reasons: Mapping[str, int], held: int, tally: np.record, quasi: int) -> Stats:
    grouped = int(tally.clustered + tally.reused)
    released = grouped + int(tally.suppressed)
    return Stats(
        received=received, rejected=sum(reasons.values()), reasons=dict(reasons), held=held, released=released,
        groups=int(tally.groups), clustered=int(tally.clustered), reused=int(tally.reused),
        suppressed=int(tally.suppressed), loss=float(tally.loss) / released if released else 0.0,
        doubt=int(tally.doubtful) / (grouped * quasi) if grouped else 0.0,
        withheld=int(tally.withheld), smallest_group=int(tally.smallest) if tally.groups else None,
        longest_wait=float(tally.longest) if released else None, stretched=int(tally.stretched),
        faults={name: int(tally[name]) for name in _FAULTS if tally[name]},
    )  # fmt: skip


class DriftWatch:
    """Finds drift in the field names of each batch.

    >>> watch = DriftWatch(["age", "who.city"])
    >>> watch.see(pa.RecordBatch.from_pylist([{"age": 3, "who": {"city": "x"}, "note": 1}]))
    >>> watch.see(pa.RecordBatch.from_pylist([{"who": {"city": "x"}, "mood": 1}]))
    >>> watch.drift
    Drift(new=1, absent={'age': 1})
    """

    def __init__(self, fields: Iterable[str]) -> None:
        self._fields = tuple(fields)
        self._known: set[str] = set()
        self._new: set[str] = set()
        self._absent: Counter[str] = Counter()

    @property
    def drift(self) -> Drift:
        return Drift(len(self._new), dict(self._absent))

    def see(self, batch: pa.RecordBatch, names: Collection[str] | None = None) -> None:
        """`names` are all field names of the records, if the batch holds only some of the fields."""
        if not batch.num_rows:
            return
        present = set(batch.schema.names if names is None else names)
        for name in self._fields:
            array = in_batch(batch, name)
            is_named = name in present or (head(name) in present and array is not None and not pa.types.is_null(array.type))
            if array is None or (not is_named and array.null_count == len(array)):
                self._absent[name] += batch.num_rows
        self._meet(present)

    def see_one(self, record: Mapping[str, Any]) -> None:
        """The same for one record."""
        for name in self._fields:
            if name not in record and ((value := in_record(record, name)) is None or value is ABSENT):
                self._absent[name] += 1
        self._meet(set(record))

    def _meet(self, present: set[str]) -> None:
        """Tell known names from new ones."""
        if not self._known:
            self._known = {*present, *self._fields, *map(head, self._fields)}
        elif len(self._new) < MOST:
            self._new |= set(sorted(present - self._known - self._new)[: MOST - len(self._new)])

    def saved(self) -> dict[str, Any]:
        return {"known": sorted(self._known), "new": sorted(self._new), "absent": dict(self._absent)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self._known, self._new = set(saved["known"]), set(saved["new"])
        self._absent = Counter(saved["absent"])
