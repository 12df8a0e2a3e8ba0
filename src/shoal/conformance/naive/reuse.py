from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

from shoal.conformance.naive.domains import Attribute
from shoal.conformance.naive.measures import MAYBE, Reading, covers, loss
from shoal.conformance.naive.promises import Shown
from shoal.conformance.naive.rows import Row


@dataclass
class Entry:
    generalization: tuple
    group: int
    loss: float
    published: float
    shown: Shown = field(default_factory=list)
    people: list[Hashable] = field(default_factory=list)  # the person of every row that shows it
    moment: tuple[float, float] | None = None
    withheld: bool = False


class ReuseSet:
    def __init__(
        self, attributes: Sequence[Attribute], age: float, limit: float, max_loss: float, reading: Reading = MAYBE
    ) -> None:
        self.attributes = attributes
        self.age = age
        self.limit = limit
        self.max_loss = max_loss
        self.reading = reading
        self.entries: list[Entry] = []

    def add(self, entry: Entry) -> None:
        if entry.loss < self.max_loss:
            self.entries.append(entry)
        while len(self.entries) > self.limit:
            self.entries.remove(min(self.entries, key=lambda e: (e.published, e.group)))

    def best(self, t: Row, now: float, serves: Callable[[Entry], bool] = lambda entry: True) -> Entry | None:
        self.entries = [e for e in self.entries if not now - e.published >= self.age]
        covering = [e for e in self.entries if covers(self.attributes, e.generalization, t, self.reading) and serves(e)]
        return min(
            covering,
            key=lambda e: (loss(self.attributes, t, e.generalization, self.reading), e.published, e.group),
            default=None,
        )
