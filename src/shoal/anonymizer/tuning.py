"""A z that follows the stream: after each quarter of a period, the tuner is told what was counted in the last Δt."""

from __future__ import annotations

import numpy as np

from shoal.blocks.exposure import Exposures, census, marks
from shoal.blocks.ring import NEVER
from shoal.model import Tuner
from shoal.model.tuner import NOTHING
from shoal.policy import Tuned


class Tuning:
    """Keeps z where a user is k-anonymous with the probability that is asked for.

    Until a whole window was counted, nothing is released.
    """

    def __init__(self, wanted: Tuned, window: float) -> None:
        self._window = window
        self._tuner = Tuner(wanted.auto.k, wanted.auto.probability, wanted.floor)
        self._begun = np.nan

    @property
    def z(self) -> int:
        return self._tuner.z

    @property
    def knows(self) -> bool:
        """Whether there is a z yet."""
        return self.z < NOTHING

    def turn(self, x: Exposures, quarter: int, later: int, time: float) -> None:
        """A quarter of a period is over, and the first observation of a later one has come."""
        if quarter == NEVER:
            self._begun = time
        elif time - self._begun >= self._window:
            counts = np.zeros(len(x.items), np.int64)
            users = census(x, x.book.newest - self._window, counts)
            shown = counts[4 * counts >= max(self._tuner.floor, 4)]
            period, is_over = quarter >> 2, quarter >> 2 < later >> 2
            self._tuner.observe(int(users), shown, self._achieved(x, period) if is_over and self.knows else None)

    def _achieved(self, x: Exposures, period: int) -> float | None:
        """The part of the users of a period who published what at least k of them did."""
        found = np.empty(int(x.items[x.book.everyone]["count"]), np.uint64)
        found = found[: marks(x, period, found)]
        if not len(found):
            return None
        alike = np.unique(found, return_counts=True)[1]
        return float(alike[alike >= self._tuner.k].sum() / len(found))

    def saved(self) -> dict[str, float | None]:
        return {"z": self.z, "margin": self._tuner.margin, "begun": None if np.isnan(self._begun) else self._begun}

    def restore(self, saved: dict[str, float | None]) -> None:
        z, margin, begun = saved["z"], saved["margin"], saved["begun"]
        assert z is not None and margin is not None
        self._tuner.z, self._tuner.margin, self._begun = int(z), margin, np.nan if begun is None else begun
