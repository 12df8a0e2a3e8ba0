from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from shoal.conformance.naive.common import Arrival, Attribute, Entry, Row, persons

from .fads import Fads


class Fast(Fads):
    def __init__(
        self,
        attributes: Sequence[Attribute],
        k: int,
        window: tuple[str, float],
        *,
        round: int | None = None,
        deadline: float | None = None,
        reuse_age: float | None = None,
        workers: int = 1,
        **parameters: Any,
    ) -> None:
        kind, length = window
        self.deadline = length if deadline is None else deadline
        self.round = int(min(6 * k, self.deadline)) if round is None else round
        if not k <= self.round <= self.deadline:
            raise ValueError(f"fast needs k <= round <= deadline, not {k}, {self.round}, {self.deadline}")
        if reuse_age is None and kind == "time":
            raise ValueError("fast needs a reuse_age under time")
        if workers != 1:
            raise ValueError("only one worker is deterministic")
        super().__init__(attributes, k, window, reuse_age=20 * self.round if reuse_age is None else reuse_age, **parameters)
        self.source: list[Row] = []
        self.newest = -math.inf
        self.first_read = 0
        self.now = 0
        self.estimate = 0.0

    def arrive(self, arrival: Arrival) -> None:
        number = self.arrivals
        self.arrivals += 1
        if self.window == "time":
            assert arrival.time is not None
            self.newest = max(self.newest, arrival.time)
        ts = self.newest if self.window == "time" else number
        row = Row(number, ts, arrival.person, arrival.values, arrival.sensitive, arrival.time)
        self.source.append(row)
        self.promises.witness(row)
        if len(self.source) >= self.round:
            self.play()

    def tick(self, now: float) -> None:
        self.newest = max(self.newest, now)

    def finish(self) -> None:
        while self.source:
            self.play()

    def play(self) -> None:
        self.take()
        if self.waits(self.buffer[0]):
            deadline = self.stretch * self.deadline
        else:
            deadline = self.deadline
            self.publish(self.buffer[0])
        back = []
        for t in list(self.buffer):
            if self.now - t.time + self.estimate < deadline:
                back.append(t)
            else:
                self.suppress(t)
        self.source = [*back, *self.source]
        self.buffer = []

    def waits(self, t: Row) -> bool:
        """Whether a round stays because fewer than k persons are there."""
        few = persons(self.buffer) < self.k and self.best_cover(t) is None
        return few and self.stretch > 1 and not self.ended

    def take(self) -> None:
        """All that the source has: a round, and what came since one was handed back whole."""
        self.buffer, self.source = self.source, []
        before = self.buffer[0].time if self.window == "time" and self.first_read == 0 else self.now
        self.first_read = max(self.first_read, self.buffer[-1].number + 1)
        if self.window == "time":
            self.now = max(before, self.buffer[-1].time)
        else:
            self.now = self.first_read
        self.estimate = max(self.estimate, self.now - before)

    def publish_covered(self, t: Row, cover: Entry) -> None:
        super().publish_covered(t, cover)
        cover.published = self.now

    def clock(self) -> float:
        return self.now if self.window == "time" else self.first_read - 1
