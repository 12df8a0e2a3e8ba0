"""Some groups of the generated stream with their records as they came: an animation shows how records hide in a group.

Only generated records are shown so. A page of real records never has their values, and no pipeline has this class.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any

import pyarrow as pa

from shoal.column_types import OR_MISSING
from shoal.text import interval_text

FIELDS = ("age", "activity", "district")

_EVERY = 5.0  # seconds from one group to the next
_OLDEST = 2 * _EVERY  # seconds after which a group is no longer shown
_BEST = 8  # groups that wait to be shown
_KEPT = 6  # groups
_HELD = 1 << 14  # records that may still become members
_WIDEST = 30  # years of an interval that is worth a look

Value = str | None
Record = tuple[float, tuple[Value, ...]]  # when it came, and its values


class Shoal:
    """Collects records and, from time to time, shows the most telling group of those that left lately.

    Many groups may leave at once. They are shown one after the other: each with all of its waits, which are true.

    >>> from shoal import Anonymizer
    >>> from shoal.demo import live, policy_of
    >>> now = [0.0]
    >>> shoal, anonymizer = Shoal(clock=lambda: now[0]), Anonymizer(policy_of("tide"))
    >>> for batch, at in live(6000, clock=lambda: now[0], sleep=lambda pause: now.append(now.pop() + pause)):
    ...     shoal.came(batch)
    ...     shoal.left(anonymizer.push_batch(batch), anonymizer.trace)
    ...     shoal.left(anonymizer.tick(at), anonymizer.trace)
    >>> group = shoal.since(0)["groups"][0]
    >>> len(group["members"]) >= 20, all(0 <= member["waited"] <= 10.2 for member in group["members"])
    (True, True)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._first = 0  # the row of the oldest record
        self._records: deque[Record] = deque()
        self._best: list[tuple[int, float, dict[str, Any]]] = []  # how dull, when it left, and the group
        self._due = clock() + _EVERY
        self._groups: deque[dict[str, Any]] = deque(maxlen=_KEPT)
        self._number = 0

    def came(self, batch: pa.RecordBatch) -> None:
        """Records, before they are pushed."""
        now = self._clock()
        columns = [batch.column(name).to_pylist() for name in FIELDS]
        self._records.extend((now, tuple(_plain(value) for value in values)) for values in zip(*columns, strict=True))
        while len(self._records) > _HELD:
            self._records.popleft()
            self._first += 1

    def left(self, published: pa.RecordBatch, trace: pa.RecordBatch) -> None:
        """What left in a step. The best of its groups is kept if it tells more than those of the steps before."""
        now = self._clock()
        members: dict[int, list[int]] = {}
        hows, numbers = trace.column("how").to_pylist(), trace.column("cluster").to_pylist()
        for place, (how, number) in enumerate(zip(hows, numbers, strict=True)):
            if how == "cluster":
                members.setdefault(number, []).append(place)
        rows = trace.column("row").to_pylist()
        for places in members.values():
            row = {name: published.column(name)[places[0]].as_py() for name in FIELDS}
            if (dull := _dullness(row)) is not None:
                found = [self._records[rows[place] - self._first] for place in places if rows[place] >= self._first]
                found.sort(key=lambda record: record[0])
                came = [{"waited": round(now - at, 2), "values": values} for at, values in found]
                shown = [_shown(row[name]) for name in FIELDS]
                self._best.append((dull, now, {"shown": shown, "members": came}))
        if now >= self._due:
            self._show(now)

    def _show(self, now: float) -> None:
        lately = [each for each in self._best if now - each[1] <= _OLDEST]
        self._best = sorted(lately, key=lambda each: each[0])[:_BEST]
        if self._best:
            with self._lock:
                self._groups.append({"number": self._number, "left": now, **self._best.pop(0)[2]})
                self._number += 1
            self._due = now + _EVERY

    def since(self, number: int) -> dict[str, Any]:
        """The groups that are kept, from a number on; moments are seconds of the same clock as `now`."""
        with self._lock:
            groups = [group for group in self._groups if group["number"] >= number]
        return {"now": self._clock(), "fields": FIELDS, "groups": groups}


def _dullness(row: Mapping[str, Any]) -> int | None:
    """Fewer is better; None if it says too little."""
    if any(value is None for value in row.values()):
        return None
    texts = [_shown(value) for value in row.values()]
    years = row["age"]["hi"] - row["age"]["lo"] if "lo" in row["age"] else _WIDEST
    hidden = sum(text.startswith(root) for text in texts for root in ("any", "City"))
    return None if years > _WIDEST else int(10 * (sum(OR_MISSING in text for text in texts) + 3 * hidden) + years)


def _plain(value: Any) -> Value:
    return None if value is None else str(value)


def _shown(value: Any) -> str:
    """
    >>> _shown({"lo": 30, "hi": 40}), _shown({"value": "walking", "or_missing": True}), _shown("Canal")
    ('30 – 40', 'walking or missing', 'Canal')
    """
    if not isinstance(value, Mapping):
        return str(value)
    text = interval_text(value["lo"], value["hi"]) if "lo" in value else str(value["value"])
    return text + OR_MISSING if value.get("or_missing") else text
