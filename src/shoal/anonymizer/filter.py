"""The engine of z-anonymity: every observation is released or withheld the moment it arrives."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.algorithms import zanon
from shoal.anonymizer.engine import Answer, Engine, UserCounts
from shoal.anonymizer.secret import secret
from shoal.anonymizer.snapshot import Snapshot
from shoal.anonymizer.stats import FilterStats
from shoal.anonymizer.tuning import NEVER, Tuning
from shoal.columns import ObservationEncoder, ObservationPublisher, Pseudonyms, TimeBounds, keys_of, periods
from shoal.policy import Policy, Tuned, Zanon

PAUSE = 65_536
"""The least number of observations between two sweeps."""

_SWEEP_FACTOR = 8  # observations until the next sweep, for each item that the last sweep kept

_MAX_EXACT = 1_000_000  # entries up to which users are counted exactly; above, the number of users is estimated
_NONE = np.zeros(0, np.int64)
_OUTCOMES = pa.array(zanon.OUTCOMES)


class Filter(Engine):
    """Counts the users that expose each item, and publishes the items that enough users exposed."""

    generalized = frozenset[str]()

    def __init__(self, policy: Policy, key: bytes | None = None, bounds: TimeBounds | None = None) -> None:
        """`key` is the secret of the pseudonyms; by default it is read from the policy's file or the environment."""
        assert isinstance(policy.algorithm, Zanon)
        self._policy, self._parameters, self._bounds = policy, policy.algorithm, bounds
        self._publisher = ObservationPublisher(policy, Pseudonyms(key or secret(policy.algorithm)))
        self._start(np.frombuffer(secrets.token_bytes(16), np.uint64).copy())

    def _start(self, key: NDArray[np.uint64]) -> None:
        tuned = isinstance(self._parameters.z, Tuned)
        self._key = key
        self._encoder = ObservationEncoder(self._policy, key, self._bounds)
        self.fields = self._policy.fields
        self._exposures = self._none_exposed()
        self._rule = np.zeros(1, zanon.RULE).view(np.recarray)[0]
        self._rule.window, self._rule.quarter, self._rule.tuned = self._parameters.window, NEVER, tuned
        self._rule.blank, self._rule.due = self._parameters.withheld == "blank", PAUSE
        z = self._parameters.z
        self._tuning = Tuning(z, self._parameters.window) if isinstance(z, Tuned) else None
        self._rule.z = self._tuning.z if self._tuning else z

    def _none_exposed(self) -> zanon.Exposures:
        tree = self._policy.item and self._policy.item.hierarchy
        labels = keys_of(pa.array(tree.labels if tree else [], pa.string()), (), self._key).keys
        parents = tree.parent if tree else np.zeros(0, np.int64)
        return zanon.new_exposures(labels, parents, isinstance(self._parameters.z, Tuned), self._key)

    @property
    def no_trace(self) -> pa.RecordBatch:
        return _trace(_NONE, _NONE, _NONE)

    def arrive(self, batch: pa.RecordBatch, rows: NDArray[np.int64]) -> Answer:
        observed = self._encoder.encode(batch, rows)
        decided = self.decide(observed.time, observed.user, observed.item)
        leaving = decided.leaving
        late = np.flatnonzero(decided.how == zanon.LATE) if len(leaving) < len(decided.how) else _NONE
        rejected = [*observed.rejected, *self._encoder.late(observed.rows[late])]
        period = periods(observed.time, self._parameters.window)
        generalized = decided.how[leaving] == zanon.GENERALIZED if self._policy.item and self._policy.item.hierarchy else None
        published = self._publisher.publish(observed.batch, leaving, observed.user, period, decided.shown, generalized)
        return Answer(published, lambda: _trace(observed.rows[leaving], decided.how[leaving], decided.z), sorted(rejected))

    def decide(self, time: NDArray[np.float64], user: NDArray[np.uint64], item: NDArray[np.uint64]) -> zanon.Observations:
        """Count observations, given as keys, and decide which are released; nothing is published."""
        quarter = periods(time, self._parameters.window / 4) if self._tuning else _NONE
        decided = zanon.observations(time, user, item, quarter)
        self._decide(decided)
        size = int(self._rule.leaving)
        return decided._replace(leaving=decided.leaving[:size], shown=decided.shown[:size], z=decided.z[:size])

    def tick(self, now: float) -> Answer:
        """No record waits, so none leaves."""
        return self.flush()

    def set_clock(self, now: float) -> None:
        """Forget exposures from after `now`."""
        until = zanon.exposures_until(zanon.saved_exposures(self._exposures), now)
        self._exposures = zanon.restored_exposures(self._none_exposed(), until)
        if self._tuning and self._rule.quarter != NEVER:
            self._rule.quarter = min(int(self._rule.quarter), int(periods(np.array([now]), self._parameters.window / 4)[0]))

    def flush(self) -> Answer:
        return Answer(self._publisher.nothing, lambda: self.no_trace, [])

    def _decide(self, batch: zanon.Observations) -> None:
        rule, size = self._rule, len(batch.time)
        rule.row = rule.leaving = 0
        while rule.row < size:
            if rule.due == 0:
                rule.due = max(PAUSE, _SWEEP_FACTOR * zanon.sweep(self._exposures, rule.window))
            rule.last = min(size, rule.row + rule.due)
            rule.due -= rule.last - rule.row
            self._count(batch)

    def _count(self, batch: zanon.Observations) -> None:
        """Decide the rows up to `last`."""
        rule = self._rule
        row, left = int(rule.row), int(rule.leaving)
        while (reason := zanon.run(self._exposures, rule, batch)) != zanon.DONE:
            if reason == zanon.TURN:
                self._note(batch, row, left)
                row, left = int(rule.row), int(rule.leaving)
                self._turn(int(batch.quarter[row]), float(batch.time[row]))
            elif reason == zanon.FULL:
                self._exposures = zanon.with_room(self._exposures, self._parameters.window)
            else:
                self._exposures = zanon.with_items(self._exposures)
        self._note(batch, row, left)

    def _note(self, batch: zanon.Observations, row: int, left: int) -> None:
        """Report the outcome of the rows from `row` on to the tuner; `left` observations had left before these rows."""
        if self._tuning:
            rows, leaving = slice(row, int(self._rule.row)), slice(left, int(self._rule.leaving))
            self._tuning.note(self._exposures, batch, rows, leaving, int(self._rule.quarter) >> 2)

    def _turn(self, quarter: int, time: float) -> None:
        assert self._tuning
        self._tuning.turn(self._exposures, int(self._rule.quarter), quarter, time)
        if self._tuning.z > self._rule.z:
            zanon.forget_backing(self._exposures)
        self._rule.z, self._rule.quarter = self._tuning.z, quarter

    def stats(self, received: int, reasons: Mapping[str, int]) -> FilterStats:
        _, withheld, released, generalized = self._rule.tally.tolist()
        return FilterStats(
            received=received, rejected=sum(reasons.values()), reasons=dict(reasons), released=released + generalized,
            generalized=generalized, withheld=withheld,
            z=int(self._rule.z) if self._tuning is None or self._tuning.knows else None,
        )  # fmt: skip

    @property
    def sizes(self) -> dict[str, int]:
        return {"exposures": int(self._exposures.counters.held), "items": int(self._exposures.counters.items)}

    def user_counts(self) -> UserCounts | None:
        x = self._exposures
        limit = x.counters.newest - self._rule.window
        counts = np.zeros(len(x.items) + 1, np.int64)  # a spare entry, read by `census` if it has no count of all users
        users = int(zanon.census(x, limit, counts)) or _users(x, limit)
        return UserCounts(users, counts[counts > 0]) if users else None

    def saved(self) -> Snapshot:
        """The whole state, with the users that were counted for each item, but without the secret."""
        header: dict[str, Any] = {"key": self._key.tolist()}
        arrays = {**zanon.saved_exposures(self._exposures), "rule": np.array([self._rule])}
        if self._tuning:
            header["tuning"], arrays["published"] = self._tuning.saved()
        return Snapshot(header, arrays, pa.Table.from_batches([self._publisher.nothing]))

    def restore(self, snapshot: Snapshot) -> None:
        self._start(np.array(snapshot.header["key"], np.uint64))
        self._exposures = zanon.restored_exposures(self._exposures, snapshot.arrays)
        self._rule = snapshot.arrays["rule"].view(np.recarray)[0]
        if self._tuning:
            self._tuning.restore(snapshot.header["tuning"], snapshot.arrays["published"])
        self._publisher.nothing = pa.RecordBatch.from_pylist([], snapshot.kept.schema)


def _users(x: zanon.Exposures, limit: float) -> int:
    """How many different users have an entry since `limit`; with very many entries, an estimate from one user in `one_in`."""
    items = x.items[: int(x.counters.fresh_item)]
    items = items[(items["length"] > 0) & (items["newest"] >= limit)]
    length = items["length"].astype(np.int64)
    base, head, size = (np.repeat(items[name].astype(np.int64), length) for name in ("base", "head", "size"))
    step = np.arange(len(base)) - np.repeat(np.cumsum(length) - length, length)
    entries = x.entries[base + ((head + step) & (size - 1))]
    user, one_in = entries["user0"], 1 + len(entries) // _MAX_EXACT
    there = (entries["time"] >= limit) & (user % np.uint64(one_in) == 0)
    return one_in * len(np.unique(user[there]))


def _trace(rows: NDArray[np.int64], how: NDArray[np.signedinteger[Any]], z: NDArray[np.int64]) -> pa.RecordBatch:
    outcome = pa.DictionaryArray.from_arrays(how.astype(np.int8, copy=False), _OUTCOMES)
    return pa.RecordBatch.from_arrays([pa.array(rows), outcome, pa.array(z)], names=["row", "how", "z"])
