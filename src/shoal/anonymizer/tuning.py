"""A tuned z, which follows the stream: after each quarter of a period, the tuner gets the counts of the last Δt."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.algorithms import zanon
from shoal.model import NOTHING, Tuner
from shoal.policy import Tuned

NEVER = -(1 << 63)
"""The quarter before the first observation."""

_USER = ["user0", "user1"]
_PUBLISHED = [*_USER, "mark"]
_NONE = np.zeros((0, len(_PUBLISHED)), np.uint64)
_MAX_NOTED = 65_536  # new rows after which duplicates are removed


class Tuning:
    """Adjusts z so that a user is k-anonymous with the wanted probability.

    Until a whole window was counted, nothing is released.
    """

    def __init__(self, wanted: Tuned, window: float) -> None:
        self._window = window
        self._tuner = Tuner(wanted.auto.k, wanted.auto.probability, wanted.floor)
        self._begun = np.nan
        self._published = _NONE  # pairs of this period, each once: a user, and the mark of a published item or 0
        self._noted: list[NDArray[np.uint64]] = []  # newer pairs, perhaps with duplicates

    @property
    def z(self) -> int:
        return self._tuner.z

    @property
    def knows(self) -> bool:
        """Whether z has a value yet."""
        return self.z < NOTHING

    def note(self, x: zanon.Exposures, batch: zanon.Observations, rows: slice, leaving: slice, period: int) -> None:
        """Note which user published which item, for those rows of a batch that are in this period."""
        published = np.zeros((rows.stop - rows.start, len(_PUBLISHED)), np.uint64)
        published[:, :2] = batch.user[rows]
        mark = np.empty(leaving.stop - leaving.start, np.uint64)
        zanon.marks(x, batch.shown[leaving], mark)
        published[batch.leaving[leaving] - rows.start, 2] = mark
        self._noted.append(published[(batch.how[rows] != zanon.LATE) & (batch.quarter[rows] >> 2 == period)])
        if sum(map(len, self._noted)) > _MAX_NOTED + len(self._published):
            self._gather()

    def _gather(self) -> None:
        """Merge the noted pairs, without duplicates."""
        noted = _table(np.concatenate([self._published, *self._noted])).group_by(_PUBLISHED).aggregate([])
        self._published = np.column_stack([noted.column(name).to_numpy() for name in _PUBLISHED])
        self._noted = []

    def turn(self, x: zanon.Exposures, quarter: int, later: int, time: float) -> None:
        """End a quarter of a period, because the first observation of a later quarter has arrived."""
        is_over = quarter >> 2 < later >> 2
        if quarter == NEVER:
            self._begun = time
        elif time - self._begun >= self._window:
            counts = np.zeros(len(x.items), np.int64)
            users = zanon.census(x, x.counters.newest - self._window, counts)
            shown = counts[4 * counts >= max(self._tuner.floor, 4)]
            self._tuner.observe(int(users), shown, self._achieved() if is_over and self.knows else None)
        if is_over:
            self._published, self._noted = _NONE, []

    def _achieved(self) -> float | None:
        """The share of the period's users whose set of published items is the same for at least k users."""
        self._gather()
        if not len(self._published):
            return None
        sets = _table(self._published).group_by(_USER).aggregate([("mark", "sum")])
        alike = pc.value_counts(sets.column("mark_sum")).field("counts").to_numpy()
        return float(alike[alike >= self._tuner.k].sum() / len(sets))

    def saved(self) -> tuple[dict[str, float | None], NDArray[np.uint64]]:
        self._gather()
        begun = None if np.isnan(self._begun) else self._begun
        return {"z": self.z, "margin": self._tuner.margin, "begun": begun}, self._published

    def restore(self, saved: dict[str, float | None], published: NDArray[np.uint64]) -> None:
        z, margin, begun = saved["z"], saved["margin"], saved["begun"]
        assert z is not None and margin is not None
        self._tuner.z, self._tuner.margin, self._begun = int(z), margin, np.nan if begun is None else begun
        self._published = published


def _table(published: NDArray[np.uint64]) -> pa.Table:
    return pa.table(dict(zip(_PUBLISHED, published.T, strict=True)))
