"""The figures of a running stream and their last minutes; no figure describes a person.

A pipeline calls `after` when a step is done, from its own thread. A page or a scrape calls `snapshot` from any other thread.
Memory is bounded. The work of a step is a few numpy passes over the released tuples; only a sample is read value by value.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from random import Random
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.anonymizer import Anonymizer, FilterStats, Stats, UserCounts
from shoal.model import Publication, grid
from shoal.policy import Policy
from shoal.telemetry.checks import (
    USUAL,
    Bounds,
    Check,
    Watchdog,
    checkpoint_check,
    data_checks,
    link_checks,
    promise_checks,
    sink_check,
    stream_checks,
    wait_check,
)  # fmt: skip
from shoal.telemetry.histogram import ReleaseHistograms, waits_and_sizes
from shoal.telemetry.history import Floats
from shoal.telemetry.log import Level, Log
from shoal.telemetry.losses import Losses, mean
from shoal.telemetry.phases import Phases
from shoal.telemetry.resources import Resources
from shoal.telemetry.sample import PublishedSample
from shoal.telemetry.spans import SPANS, Spans, plain
from shoal.telemetry.totals import described, least_alike, most_frequent, totals
from shoal.telemetry.wall import WallWaits

STARTING, RUNNING, STOPPED = "starting", "running", "stopped"

HISTORY = (
    "in", "out", "loss", "held", "groups", "suppressed", "rejected", "released_share", "z", "lag", "wait", "cores", "memory",
    "source", "sink",
)  # of one second  # fmt: skip
PEAKS = ("lag", "wait", "memory")  # of which a coarser row has the highest value

_SMOOTH = 10  # seconds over which a rate is averaged
_RECENT = 10  # seconds over which a loss is averaged
_SAMPLE = 1024  # tuples of one step whose values are read
_PAUSE = 0.05  # seconds from one such sample to the next
_CENSUS = 10.0  # seconds from one census of z-anonymity to the next, at least,
_DUTY = 50  # and at least this many times the duration of a census
_TOLERANCE = 1e-3  # of p_k-anon
_LONGEST = 1000  # rows that are written after a gap; a longer gap is skipped


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

    def __init__(
        self,
        policy: Policy,
        *,
        clock: Callable[[], float] = time.monotonic,
        today: Callable[[], float] = time.time,
        random: Random | None = None,
        about: Mapping[str, str] | None = None,
        links: Callable[[], Mapping[str, bool | None]] = dict,
        tick: float = 0.0,
        checkpoint: float | None = None,
        bounds: Bounds = USUAL,
    ) -> None:
        """`about` names the pipeline, its source and its sink, without secrets; `links` tells which of these are connected.
        `tick` and `checkpoint` are the seconds from one to the next.
        """
        self.policy = policy
        self._about, self._links = dict(about or {}), links
        self._every, self._bounds = checkpoint, bounds
        self._clock = clock
        self._lock = Lock()
        self._today = today
        self._begun, self._wall = clock(), today()
        self._state, self._reason = STARTING, None  # type: tuple[str, str | None]
        self.has_run = False
        self._stats: Stats | FilterStats | None = None
        self._sizes: dict[str, int] = {}
        self._before: dict[str, float] = {}  # totals at the beginning of this second
        self._history = Spans(HISTORY, PEAKS)
        self._first = 0  # the first row of this process
        self.log = Log()
        self._watchdog, self._phases, self._resources = Watchdog(), Phases(), Resources(clock)
        self._losses = None if policy.is_filter else Losses(policy)
        self._releases = None if policy.is_filter else ReleaseHistograms(policy)
        self._wall_waits = WallWaits(policy, tick) if self._releases else None
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
        rows = trace.column("row").to_numpy() if left else None
        some = None
        if answer.num_rows and now - self._sampled >= _PAUSE:
            self._sampled = now
            some = answer if answer.num_rows <= _SAMPLE else answer.take(_evenly(answer.num_rows))
        with self._lock:
            self._advance(now)
            self._state = RUNNING if self._state == STARTING else self._state
            if self._stats is None or stats.received > self._stats.received:
                self._arrived = now
            if self._wall_waits:
                self._wall_waits.note(stats, rows, self._phases.read_at or now, now)
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
            self._state, self.has_run = RUNNING, True
            self._say("info", "The pipeline has started." if not (stats and stats.received) else "The pipeline continues.")
            if stats:
                self._stats, self._before = stats, totals(stats)
                if self._wall_waits:
                    self._wall_waits.begin(stats)

    def phase(self, name: str) -> None:
        """From now on the pipeline waits for its `source` or its `sink`, or does `work`."""
        with self._lock:
            self._phases.enter(name, self._clock())

    def failed(self, reason: str) -> None:
        """A checkpoint could not be written. The reason is shown as given, so it must hold no data."""
        with self._lock:
            self._say("red", f"A checkpoint could not be written: {reason}.")

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
            self._say("info", f"The pipeline has stopped: {reason}.")

    def advance(self) -> None:
        """Write the rows of all seconds that have passed, also when nothing comes and nobody looks."""
        with self._lock:
            self._advance(self._clock())

    @property
    def state(self) -> str:
        """`starting`, `running` or `stopped`."""
        with self._lock:
            return self._state

    def snapshot(self, since: int = 0, shown: int = 0, logged: int = 0) -> dict[str, Any]:
        """All figures, in types of JSON; of the history the rows from `since` on, of the sample those from `shown` on; the log
        if it has changed since version `logged`.
        """
        p_kanon = self._p_kanon()
        with self._lock:
            now = self._clock()
            self._advance(now)
            first, rows = self._history.since(since)
            first_shown, tuples = self._sample.since(shown)
            return {
                "policy": {
                    **described(self.policy, self._releases.deadline if self._releases else math.inf),
                    "columns": self._sample.columns,
                    "hidden": self._sample.hidden,
                },
                "state": self._state,
                "reason": self._reason,
                "about": self._about,
                "begun": self._wall,
                "now": self._today(),
                "uptime": now - self._begun,
                "quiet": None if self._arrived is None else now - self._arrived,
                "rates": self._rates(),
                "totals": totals(self._stats) if self._stats else {},
                "smallest_group": getattr(self._stats, "smallest_group", None),
                "longest_wait": getattr(self._stats, "longest_wait", None),
                "faults": dict(getattr(self._stats, "faults", {})),
                "reasons": most_frequent(self._stats.reasons) if self._stats else {},
                "new_fields": self._stats.drift.new if self._stats else 0,
                "sizes": self._sizes,
                **(self._releases.figures() if self._releases else {}),
                "wall": self._wall_waits.figures() if self._wall_waits else None,
                "cores": self._resources.cores,
                "memory": self._resources.memory,
                "cpu_seconds": time.process_time(),
                "shares": self._shares(),
                "links": self._links(),
                "checks": {name: check._asdict() for name, check in self._watchdog.standing.items()},
                "log": {"version": self.log.version, "entries": self.log.entries() if self.log.version != logged else None},
                "attributes": self._losses.recent(_RECENT) if self._losses else [],
                "z": getattr(self._stats, "z", None),
                "p_kanon": p_kanon,
                "checkpoint": self._checkpointed(now),
                "lag": self._lag,
                "history": {"first": first, "names": HISTORY, "rows": plain(rows), "begun": self._origin},
                "losses": plain(self._losses.history.since(first)[1]) if self._losses else [],
                "sample": {"first": first_shown, "rows": tuples},
            }

    def span(self, name: str) -> dict[str, Any]:
        """The last `hour` or `day`: rows of several seconds each."""
        step, most = SPANS[name]
        with self._lock:
            self._advance(self._clock())
            first, rows = self._history.of(name)
            losses = self._losses.history.of(name)[1] if self._losses else np.zeros((0, 0))
            begun = self._origin + first * step
            columns = {"rows": plain(rows[-most:]), "losses": plain(losses[-most:])}
            return {"step": step, "begun": begun, "names": HISTORY, **columns}

    def saved(self) -> dict[str, Any]:
        """What is kept over a restart, in types of JSON: the last minutes, hour and day, and the log."""
        with self._lock:
            self._advance(self._clock())
            losses = self._losses.history.saved() if self._losses else None
            at = self._origin + self._history.next
            return {"at": at, "history": self._history.saved(), "losses": losses, "log": self.log.entries()}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Go on from what was kept, before the first step; figures of other columns, such as another policy's, are left out."""
        with self._lock:
            gap = max(int(self._wall - saved["at"]), 0)
            history, losses = Spans(HISTORY, PEAKS), Losses(self.policy) if self._losses else None
            is_alike = tuple(saved["history"]["names"]) == HISTORY
            if is_alike:
                history.restore(saved["history"], gap)
            if losses:
                losses.restore((is_alike and saved["losses"]) or {}, gap, history.next)
            self.log.restore(saved["log"])
            self._history, self._losses, self._first = history, losses, history.next  # all of it, or nothing

    @property
    def _origin(self) -> float:
        """The time of day of row 0."""
        return self._wall - self._first

    def _advance(self, now: float) -> None:
        """Write the rows of all seconds that have passed."""
        self._sample.advance(now)
        if self._state == STOPPED:
            return
        over = int(now - self._begun) + self._first - self._history.next
        if over <= 0:
            return
        self._resources.measure()
        for _ in range(min(over, _LONGEST)):
            self._history.add(self._row())
        self._history.skip(over - min(over, _LONGEST))
        for part in (self._losses, self._releases, self._wall_waits):
            if part:
                part.advance(over)
        for check in self._watchdog.see(dict(self._checks(now))):
            self._say(check.level, check.text)

    def _say(self, level: Level, text: str) -> None:
        self.log.add(self._today(), level, text)

    def _checks(self, now: float) -> Iterator[tuple[str, Check]]:
        last = np.nansum(self._last(60), axis=0)
        yield from stream_checks(dict(zip(HISTORY, last.tolist(), strict=True)), self._bounds, self.policy.is_filter)
        if self._stats:
            yield from data_checks(self._stats)
            if not self.policy.is_filter:
                yield from promise_checks(self._stats, self.policy.privacy.k)
        if self._wall_waits and self._wall_waits.is_due:
            waits = self._wall_waits
            yield "wait", wait_check(waits.longest, waits.deadline, waits.tolerance, self._bounds)
        yield from link_checks(self._links())
        if (share := self._shares()["sink"]) is not None:
            yield "backpressure", sink_check(share, self._bounds)
        if self._every and self._checkpoint and self._state == RUNNING:
            yield "checkpoint", checkpoint_check(now - self._checkpoint["at"], self._every, self._bounds)

    def _shares(self) -> dict[str, float | None]:
        """The parts of the last ten seconds that the pipeline spent waiting for its source and its sink."""
        rows = self._last(_RECENT)
        place = {name: n for n, name in enumerate(HISTORY)}
        return {name: mean(rows[:, place[name]]) for name in ("source", "sink")}

    def _row(self) -> list[float]:
        """The figures of the second that has passed; arrivals and releases are counted from its beginning."""
        after = totals(self._stats) if self._stats else {}
        gone = {name: total - self._before.get(name, 0) for name, total in after.items()}
        self._before = after
        out, taken = gone.get("released", 0), gone.get("released", 0) + gone.get("withheld", 0)
        z = getattr(self._stats, "z", None)
        return [
            gone.get("received", 0), out, gone["lost"] / out if out and "lost" in gone else math.nan,
            self._sizes.get("held", self._sizes.get("exposures", 0)), gone.get("groups", 0), gone.get("suppressed", 0),
            gone.get("rejected", 0), out / taken if taken else math.nan, math.nan if z is None else z,
            math.nan if self._lag is None else self._lag,
            self._wall_waits.last_second if self._wall_waits else math.nan,
            math.nan if self._resources.cores is None else self._resources.cores, self._resources.memory,
            *self._phases.shares(self._clock()),
        ]  # fmt: skip

    def _last(self, seconds: int) -> Floats:
        """The rows of the last seconds of this process."""
        return self._history.last(min(seconds, self._history.next - self._first))

    def _rates(self) -> dict[str, float | None]:
        smooth, recent = self._last(_SMOOTH), self._last(_RECENT)
        place = {name: n for n, name in enumerate(HISTORY)}
        rates: dict[str, float | None] = {
            name: mean(smooth[:, place[name]]) or 0.0  # seconds without figures are left out
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
            found = grid(Publication(counts.users, exposed, z), least_alike(self.policy), _TOLERANCE)
            known = self._kept_p = counts, z, found.value
        return known[2]

    def _checkpointed(self, now: float) -> dict[str, float] | None:
        if self._checkpoint is None:
            return None
        last = dict(self._checkpoint)
        return {"age": now - last.pop("at"), "count": self._checkpoints, **last}


def _evenly(size: int) -> pa.Array:
    return pa.array(np.linspace(0, size - 1, _SAMPLE).astype(np.int64))
