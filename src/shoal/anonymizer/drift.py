"""Fields that come and go: how what arrives differs from what the policy names and from how the stream began."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shoal.path import head, in_batch

MOST = 1000
"""New fields that are told apart; a stream may make up names without end."""


@dataclass(frozen=True)
class Drift:
    """Counts of fields; a new field is never named, since a name may be data."""

    new: int = 0  # fields that came up after the beginning; they are ignored
    absent: Mapping[str, int] = field(default_factory=dict)  # by field of the policy: records that came without it

    def __bool__(self) -> bool:
        return bool(self.new or self.absent)


class Watch:
    """Looks at the names of fields, batch by batch.

    >>> watch = Watch(["age", "who.city"])
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
        """`names` are those of all fields of the records, where the batch holds but some."""
        if not batch.num_rows:
            return
        present = set(batch.schema.names if names is None else names)
        for name in self._fields:
            array = in_batch(batch, name)
            is_named = name in present or (head(name) in present and array is not None and not pa.types.is_null(array.type))
            if array is None or (not is_named and array.null_count == len(array)):
                self._absent[name] += batch.num_rows
        if not self._known:
            self._known = {*present, *self._fields, *map(head, self._fields)}
        elif len(self._new) < MOST:
            self._new |= set(sorted(present - self._known - self._new)[: MOST - len(self._new)])

    def saved(self) -> dict[str, Any]:
        return {"known": sorted(self._known), "new": sorted(self._new), "absent": dict(self._absent)}

    def restore(self, saved: Mapping[str, Any]) -> None:
        self._known, self._new = set(saved["known"]), set(saved["new"])
        self._absent = Counter(saved["absent"])
