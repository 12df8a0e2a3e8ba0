"""A glimpse of what is published: a few tuples, late and out of order, as text.

What is shown is generalized. Whatever is published as it came, sensitive and kept attributes, exact times, users' pseudonyms,
is not; and the ends of an interval without a grid, which are members' own values, are rounded outward.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from random import Random, SystemRandom
from typing import Any

import pyarrow as pa

from shoal.pipeline.width import value_of
from shoal.policy import Policy
from shoal.policy.attribute import Attribute
from shoal.text import interval_text

EPOCH = 5.0
"""Seconds for which tuples are gathered, then rest, then are shown: so one is seen 5 to 15 seconds after it left."""

_GATHERED = 20
_FEWEST = 8  # a pool with fewer goes on gathering: what is shuffled must be many
_KEPT = 40
_PARTS = 50  # of a range without a grid
_NOTHING = ""


class Glimpses:
    """Gathers some of the tuples that leave, and shows them an epoch later in any order."""

    def __init__(self, policy: Policy, random: Random | None = None) -> None:
        self.columns, self.hidden = _columns(policy)
        self._quasi = dict(policy.quasi)
        self._random = random or SystemRandom()
        self._gathering: list[tuple[str, ...]] = []
        self._seen = 0  # tuples of this epoch
        self._resting: list[tuple[str, ...]] = []
        self._showing: list[tuple[str, ...]] = []
        self._turned: float | None = None
        self._shown: deque[tuple[str, ...]] = deque(maxlen=_KEPT)
        self._number = 0  # of tuples ever shown
        self._due = 0.0

    def take(self, published: pa.RecordBatch) -> None:
        """Let each tuple of an epoch have the same chance to be gathered."""
        size = published.num_rows
        room = max(0, _GATHERED - self._seen)
        chosen = list(range(min(size, room)))
        odds = (_GATHERED * (size - len(chosen))) / max(self._seen + size, 1)
        rest = min(size - len(chosen), int(odds) + (self._random.random() < odds % 1))
        chosen += self._random.sample(range(len(chosen), size), rest)
        self._seen += size
        rows = list(self._texts(published, chosen))
        self._gathering += rows[: len(rows) - rest]
        for place, row in zip(self._random.sample(range(_GATHERED), rest), rows[len(rows) - rest :], strict=True):
            self._gathering[place] = row

    def advance(self, now: float) -> None:
        """Show what is due."""
        self._turned = now if self._turned is None else self._turned
        if now - self._turned >= EPOCH:
            self._turned, self._due = now, now
            self._showing, self._resting = self._resting, []
            self._random.shuffle(self._showing)
            if len(self._gathering) >= _FEWEST:
                self._resting, self._gathering, self._seen = self._gathering, [], 0
        while self._showing and now >= self._due:
            self._shown.append(self._showing.pop())
            self._number += 1
            self._due += EPOCH / _GATHERED

    def since(self, number: int) -> tuple[int, list[tuple[str, ...]]]:
        """The tuples shown from a number on, as far as they are kept, and the number of the first."""
        first = min(max(number, self._number - len(self._shown)), self._number)
        return first, list(self._shown)[len(self._shown) - (self._number - first) :]

    def _texts(self, published: pa.RecordBatch, rows: list[int]) -> Iterable[tuple[str, ...]]:
        if not rows:
            return []
        some = published.select(self.columns).take(pa.array(rows))
        texts = [
            [_text(value, self._quasi.get(name)) for value in value_of(column).to_pylist()]
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
    """
    if value is None:
        return _NOTHING
    if not isinstance(value, dict):
        return str(value)
    low, high = value["lo"], value["hi"]
    if attribute and not attribute.grid:
        low, high = _outward(low, high, attribute)
    return interval_text(low, high)


def _outward(low: float, high: float, attribute: Attribute) -> tuple[float, float]:
    """The ends on the edges of fiftieths of the range, at least one of them apart."""
    step = (attribute.high - attribute.low) / _PARTS
    first = min(math.floor((low - attribute.low) / step), _PARTS - 1)
    last = max(math.ceil((high - attribute.low) / step), first + 1)
    return attribute.low + step * first, attribute.low + step * last
