"""A sample of the published tuples for the page: a few of them as text, delayed and shuffled.

Only generalized values are shown. Not shown are values that are published exactly: sensitive and kept attributes, exact times,
users' pseudonyms. The ends of an interval without a grid are values of group members, so they are rounded outward. So are the
values of a set; only their number is shown.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from random import Random, SystemRandom
from typing import Any

import pyarrow as pa

from shoal.column_types import OR_MISSING
from shoal.policy import Attribute, Policy
from shoal.text import end_text, interval_text


def cell(value: Any) -> str:
    """
    >>> cell({"lo": 20.0, "hi": 22.5}), cell({"lo": 3, "hi": 3}), cell("Europe"), cell(None), cell(True)
    ('20 – 22.5', '3', 'Europe', '', 'true')
    >>> cell({"lo": 60, "hi": 85, "or_missing": True}), cell({"value": "sitting", "or_missing": True})
    ('60 – 85 or missing', 'sitting or missing')
    """
    match value:
        case None:
            return ""
        case {"or_missing": True, **certain}:
            return cell(certain) + OR_MISSING
        case {"value": inner}:
            return cell(inner)
        case {"lo": low, "hi": high}:
            return interval_text(low, high)
        case [*labels, None]:
            return cell(labels) + OR_MISSING
        case [*labels]:
            return ", ".join(labels)
        case bool():
            return str(value).lower()
        case float():
            return end_text(value)
    return str(value)


EPOCH = 5.0  # seconds: tuples are collected for one epoch, rest for one, then are shown, 5 to 15 s after their release
_COLLECTED = 20  # tuples per epoch
_FEWEST = 8  # with fewer tuples, collecting goes on for another epoch: a shuffle needs several
_KEPT = 40
_STEPS = 50  # to which the ends in a range without a grid are rounded


class PublishedSample:
    """Collects a random sample of the released tuples, and shows it an epoch later in random order."""

    def __init__(self, policy: Policy, random: Random | None = None) -> None:
        self.columns, self.hidden = _columns(policy)
        self._quasi = dict(policy.quasi)
        self._random = random or SystemRandom()
        self._collecting: list[tuple[str, ...]] = []
        self._seen = 0  # tuples of this epoch
        self._resting: list[tuple[str, ...]] = []
        self._showing: list[tuple[str, ...]] = []
        self._epoch_began: float | None = None
        self._shown: deque[tuple[str, ...]] = deque(maxlen=_KEPT)
        self._number = 0  # of tuples ever shown
        self._due = 0.0

    def add(self, published: pa.RecordBatch) -> None:
        """Reservoir sampling: each tuple of an epoch is collected with the same probability."""
        size = published.num_rows
        room = max(0, _COLLECTED - self._seen)
        chosen = list(range(min(size, room)))
        odds = (_COLLECTED * (size - len(chosen))) / max(self._seen + size, 1)
        rest = min(size - len(chosen), int(odds) + (self._random.random() < odds % 1))
        chosen += self._random.sample(range(len(chosen), size), rest)
        self._seen += size
        rows = list(self._texts(published, chosen))
        self._collecting += rows[: len(rows) - rest]
        for place, row in zip(self._random.sample(range(_COLLECTED), rest), rows[len(rows) - rest :], strict=True):
            self._collecting[place] = row

    def advance(self, now: float) -> None:
        """Show the tuples that are due."""
        self._epoch_began = now if self._epoch_began is None else self._epoch_began
        if now - self._epoch_began >= EPOCH:
            self._epoch_began, self._due = now, now
            self._showing, self._resting = self._resting, []
            self._random.shuffle(self._showing)
            if len(self._collecting) >= _FEWEST:
                self._resting, self._collecting, self._seen = self._collecting, [], 0
        while self._showing and now >= self._due:
            self._shown.append(self._showing.pop())
            self._number += 1
            self._due += EPOCH / _COLLECTED

    def since(self, number: int) -> tuple[int, list[tuple[str, ...]]]:
        """The number of the first tuple returned, and all shown tuples kept from `number` on."""
        first = min(max(number, self._number - len(self._shown)), self._number)
        return first, list(self._shown)[len(self._shown) - (self._number - first) :]

    def _texts(self, published: pa.RecordBatch, rows: list[int]) -> Iterable[tuple[str, ...]]:
        if not rows:
            return []
        some = published.select(self.columns).take(pa.array(rows))
        texts = [
            [_text(value, self._quasi.get(name)) for value in column.to_pylist()]
            for name, column in zip(self.columns, some.columns, strict=True)
        ]
        return zip(*texts, strict=True)


def _columns(policy: Policy) -> tuple[list[str], list[str]]:
    """What is shown, and what is published but not shown."""
    return list(policy.generalized), [name for name in policy.published if name not in policy.generalized]


def _text(value: Any, attribute: Attribute | None) -> str:
    """
    >>> _text({"lo": 20.0, "hi": 22.5}, None), _text("Europe", None), _text(None, None)
    ('20 – 22.5', 'Europe', '')
    >>> age = Attribute(quasi="numeric", range=(0, 100))
    >>> _text({"lo": 37.12, "hi": 41.9}, age), _text({"lo": 38, "hi": 38}, age), _text({"lo": 100, "hi": 100}, age)
    ('36 – 42', '38 – 40', '98 – 100')
    >>> _text({"lo": 37.12, "hi": 41.9, "or_missing": True}, age), _text({"value": {"lo": 38, "hi": 38}}, age)
    ('36 – 42 or missing', '38 – 40')
    >>> home = Attribute(quasi="categorical", values=["Canal", "Meadow", "Hill"])
    >>> _text(["Canal"], home), _text(["Canal", "Hill", None], home), cell(["Canal", "Hill"])
    ('Canal', '2 of 3 values or missing', 'Canal, Hill')
    """
    match value:
        case {"value": dict() | list() as imputed}:
            return _text(imputed, attribute)
        case {"lo": low, "hi": high} if attribute and not attribute.grid:
            low, high = _outward(low, high, attribute)
            value = {**value, "lo": low, "hi": high}
        case [str(), str(), *_] if attribute and attribute.sets and attribute.hierarchy and attribute.sets.min_support < 2:
            labels = sum(label is not None for label in value)
            return f"{labels} of {attribute.hierarchy.leaves} values" + (OR_MISSING if value[-1] is None else "")
    return cell(value)


def _outward(low: float, high: float, attribute: Attribute) -> tuple[float, float]:
    """The ends rounded outward to fiftieths of the range; an interval is at least one fiftieth wide."""
    step = (attribute.high - attribute.low) / _STEPS
    first = min(math.floor((low - attribute.low) / step), _STEPS - 1)
    last = max(math.ceil((high - attribute.low) / step), first + 1)
    return attribute.low + step * first, attribute.low + step * last
