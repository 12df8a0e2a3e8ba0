"""The figures of a running stream and their last minutes; no figure describes a person.

A pipeline calls `after` when a step is done, from its own thread. A page or a scrape calls `snapshot` from any other thread.
Memory is bounded. The work of a step is a few numpy passes over the released tuples; only a sample is read value by value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from random import Random
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer import Anonymizer, FilterStats, Stats, UserCounts
from shoal.model import Publication, grid
from shoal.policy import Policy, Tuned, Zanon
from shoal.telemetry.histogram import ReleaseHistograms, waits_and_sizes
from shoal.telemetry.history import History
from shoal.telemetry.losses import Losses
from shoal.telemetry.sample import PublishedSample

STARTING, RUNNING, STOPPED = "starting", "running", "stopped"

HISTORY = ("in", "out", "loss", "held", "groups", "suppressed", "rejected", "released_share", "z", "lag")  # of one second

_SMOOTH = 10  # seconds over which a rate is averaged
_RECENT = 10  # seconds over which a loss is averaged
_SAMPLE = 1024  # tuples of one step whose values are read
_PAUSE = 0.05  # seconds from one such sample to the next
_CENSUS = 10.0  # seconds from one census of z-anonymity to the next, at least,
_DUTY = 50  # and at least this many times the duration of a census
_TOLERANCE = 1e-3  # of p_k-anon
_LONGEST = 1000  # rows that are written after a gap; a longer gap is skipped
_REASONS = 100  # that are listed one by one


class Telemetry:
    """Collects the figures of every step of a stream, and reports them.

    >>> policy = Policy.parse('''
    ... person: pid
    ... attributes: {age: {quasi: numeric, range: [0, 100], grid: 5}}
    ... privacy: {k: 2}
    ... window: {count: 4}
    ... algorithm: {name: fads}
    ... ''')
    >>> anonymizer, telemetry = Anonymizer(policy), Telemetry(policy)
    >>> batch = pa.record_batch({"pid": range(6), "age": [34, 61, 36, 58, 21, 22]})
    >>> telemetry.after(anonymizer, anonymizer.push_batch(batch))
    >>> figures = telemetry.snapshot()
    >>> figures["state"], figures["totals"]["received"], figures["totals"]["released"], figures["smallest_group"]
    ('running', 6, 4, 2)
    """

    def __init__(self, policy: Policy, *, clock: Callable[[], float] = time.monotonic, random: Random | None = None) -> None:
        self.policy = policy
        self._clock = clock
        self._lock = Lock()
        self._begun, self._wall = clock(), time.time()
        self._state, self._reason = STARTING, None  # type: tuple[str, str | None]
        self._stats: Stats | FilterStats | None = None
        self._sizes: dict[str, int] = {}
        self._before: dict[str, float] = {}  # totals at the beginning of this second
        self._history = History(HISTORY)
        self._losses = None if policy.is_filter else Losses(policy)
        self._releases = None if policy.is_filter else ReleaseHistograms(policy)
        self._sample = PublishedSample(policy, random)
        self._sampled = -math.inf
        self._arrived: float | None = None
        self._checkpoint: dict[str, float] | None = None
        self._checkpoints = 0
        self._lag: int | None = None
        self._counts: UserCounts | None = None
        self._census_due = -math.inf
        self._kept_p: tuple[UserCounts, int, float] | None = None

    def after(self, anonymizer: Anonymizer, answer: pa.RecordBatch) -> None:
        """Called after a push, a tick or a flush that released `answer`, by the thread that owns the anonymizer."""
        counts = None
        if self.policy.is_filter and (now := self._clock()) >= self._census_due:
            counts = anonymizer.user_counts()
            spent = self._clock() - now
            self._census_due = now + max(_CENSUS, _DUTY * spent)
        self.note(answer, anonymizer.trace, anonymizer.stats, anonymizer.sizes, counts)

    def note(
        self, answer: pa.RecordBatch, trace: pa.RecordBatch, stats: Stats | FilterStats, sizes: Mapping[str, int],
        counts: UserCounts | None = None,
    ) -> None:  # fmt: skip
        """The same in parts: released tuples and their trace, the statistics since the beginning, and how much is held."""
        now = self._clock()
        left = waits_and_sizes(trace) if self._releases and trace.num_rows else None
        some = None
        if answer.num_rows and now - self._sampled >= _PAUSE:
            self._sampled = now
            some = answer if answer.num_rows <= _SAMPLE else answer.take(_evenly(answer.num_rows))
        with self._lock:
            self._advance(now)
            self._state = RUNNING if self._state == STARTING else self._state
            if self._stats is None or stats.received > self._stats.received:
                self._arrived = now
            self._stats, self._sizes, self._counts = stats, dict(sizes), counts or self._counts
            if self._releases and left:
                self._releases.add(*left)
            if some is not None:
                self._sample.add(some)
                if self._losses:
                    self._losses.add(some)

    def started(self, stats: Stats | FilterStats | None = None) -> None:
        """The pipeline is ready; it resumes from `stats`, which do not count as new arrivals."""
        with self._lock:
            self._advance(self._clock())
            self._state = RUNNING
            if stats:
                self._stats, self._before = stats, _totals(stats)

    def checkpointed(self, seconds: float, size: int) -> None:
        """A checkpoint was written: its duration and its size in bytes."""
        with self._lock:
            self._checkpoints += 1
            self._checkpoint = {"at": self._clock(), "seconds": seconds, "bytes": size}

    def lag(self, waiting: int | None) -> None:
        """How much waits in the source; None where that is unknown."""
        with self._lock:
            self._lag = waiting

    def stopped(self, reason: str) -> None:
        """The stream has ended. The reason is shown as given, so it must hold no data."""
        with self._lock:
            self._advance(self._clock())
            self._state, self._reason = STOPPED, reason

    @property
    def state(self) -> str:
        """`starting`, `running` or `stopped`."""
        with self._lock:
            return self._state

    def snapshot(self, since: int = 0, shown: int = 0) -> dict[str, Any]:
        """All figures, in types of JSON; of the history the rows from `since` on, of the sample those from `shown` on."""
        p_kanon = self._p_kanon()
        with self._lock:
            now = self._clock()
            self._advance(now)
            first, rows = self._history.since(since)
            first_shown, tuples = self._sample.since(shown)
            return {
                "policy": self._described(),
                "state": self._state,
                "reason": self._reason,
                "begun": self._wall,
                "uptime": now - self._begun,
                "quiet": None if self._arrived is None else now - self._arrived,
                "rates": self._rates(),
                "totals": _totals(self._stats) if self._stats else {},
                "smallest_group": getattr(self._stats, "smallest_group", None),
                "longest_wait": getattr(self._stats, "longest_wait", None),
                "faults": dict(getattr(self._stats, "faults", {})),
                "reasons": _most(self._stats.reasons) if self._stats else {},
                "new_fields": self._stats.drift.new if self._stats else 0,
                "sizes": self._sizes,
                **(self._releases.figures() if self._releases else {}),
                "attributes": self._losses.recent(_RECENT) if self._losses else [],
                "z": getattr(self._stats, "z", None),
                "p_kanon": p_kanon,
                "checkpoint": self._checkpointed(now),
                "lag": self._lag,
                "history": {"first": first, "names": HISTORY, "rows": _plain(rows)},
                "losses": _plain(self._losses.history.since(first)[1]) if self._losses else [],
                "sample": {"first": first_shown, "rows": tuples},
            }

    def _advance(self, now: float) -> None:
        """Write the rows of all seconds that have passed."""
        self._sample.advance(now)
        if self._state == STOPPED:
            return
        over = int(now - self._begun) - self._history.next
        if over <= 0:
            return
        for _ in range(min(over, _LONGEST)):
            self._history.add(self._row())
        self._history.skip(over - min(over, _LONGEST))
        for part in (self._losses, self._releases):
            if part:
                part.advance(over)

    def _row(self) -> list[float]:
        """The figures of the second that has passed; arrivals and releases are counted from its beginning."""
        after = _totals(self._stats) if self._stats else {}
        gone = {name: total - self._before.get(name, 0) for name, total in after.items()}
        self._before = after
        out, taken = gone.get("released", 0), gone.get("released", 0) + gone.get("withheld", 0)
        z = getattr(self._stats, "z", None)
        return [
            gone.get("received", 0), out, gone["lost"] / out if out and "lost" in gone else math.nan,
            self._sizes.get("held", self._sizes.get("exposures", 0)), gone.get("groups", 0), gone.get("suppressed", 0),
            gone.get("rejected", 0), out / taken if taken else math.nan, math.nan if z is None else z,
            math.nan if self._lag is None else self._lag,
        ]  # fmt: skip

    def _rates(self) -> dict[str, float | None]:
        smooth, recent = self._history.last(_SMOOTH), self._history.last(_RECENT)
        place = {name: n for n, name in enumerate(HISTORY)}
        rates: dict[str, float | None] = {
            name: float(smooth[:, place[name]].mean()) if len(smooth) else 0.0
            for name in ("in", "out", "groups", "suppressed", "rejected")
        }
        loss, out = recent[:, place["loss"]], recent[:, place["out"]]
        known = ~np.isnan(loss)
        rates["loss"] = float(np.average(loss[known], weights=out[known])) if known.any() else None
        return rates

    def _p_kanon(self) -> float | None:
        """By the model, the probability that k - 1 others publish what a user publishes; computed at most once per census."""
        with self._lock:
            counts, z, known = self._counts, getattr(self._stats, "z", None), self._kept_p
        if counts is None or z is None:
            return None
        if known is None or known[0] is not counts or known[1] != z:
            exposed = np.minimum(counts.exposed / counts.users, 1.0)
            found = grid(Publication(counts.users, exposed, z), _least_alike(self.policy), _TOLERANCE)
            known = self._kept_p = counts, z, found.value
        return known[2]

    def _checkpointed(self, now: float) -> dict[str, float] | None:
        if self._checkpoint is None:
            return None
        last = dict(self._checkpoint)
        return {"age": now - last.pop("at"), "count": self._checkpoints, **last}

    def _described(self) -> dict[str, Any]:
        policy = self.policy
        common: dict[str, Any] = {
            "algorithm": policy.algorithm.name, "columns": self._sample.columns, "hidden": self._sample.hidden,
        }  # fmt: skip
        if isinstance(policy.algorithm, Zanon):
            return {**common, "k": _least_alike(policy), "window": policy.algorithm.window, "unit": "s", "kind": "filter"}
        assert self._releases
        deadline = self._releases.deadline
        return {
            **common, "k": policy.privacy.k, "kind": policy.window.kind, "window": policy.window.length,
            "unit": "s" if policy.window.timed else "arrivals",
            "deadline": None if math.isinf(deadline) else deadline, "reuse_limit": policy.reuse.limit,
        }  # fmt: skip


def _totals(stats: Stats | FilterStats) -> dict[str, float]:
    """The figures that only grow."""
    common: dict[str, float] = {"received": stats.received, "rejected": stats.rejected, "released": stats.released}
    if isinstance(stats, FilterStats):
        return {**common, "generalized": stats.generalized, "withheld": stats.withheld}
    return {
        **common, "groups": stats.groups, "clustered": stats.clustered, "reused": stats.reused,
        "suppressed": stats.suppressed, "stretched": stats.stretched, "lost": stats.loss * stats.released,
    }  # fmt: skip


def _evenly(size: int) -> pa.Array:
    return pa.array(np.linspace(0, size - 1, _SAMPLE).astype(np.int64))


def _least_alike(policy: Policy) -> int:
    """The k of p_k-anon: the one that an automatic z aims at, else 2."""
    assert isinstance(policy.algorithm, Zanon) or not policy.is_filter
    z = getattr(policy.algorithm, "z", None)
    return z.auto.k if isinstance(z, Tuned) else 2


def _most(reasons: Mapping[str, int]) -> dict[str, int]:
    """The most frequent reasons, and the sum of all others."""
    ordered = sorted(reasons.items(), key=lambda item: -item[1])
    others = sum(number for _, number in ordered[_REASONS:])
    return {**dict(ordered[:_REASONS]), **({"other reasons": others} if others else {})}


def _plain(rows: NDArray[np.float64]) -> list[list[float | None]]:
    """Four digits suffice for a plot; NaN becomes None, since JSON has no NaN."""
    return [[None if math.isnan(value) else float(f"{value:.4g}") for value in row] for row in rows.tolist()]
