"""A z that follows the stream."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from observations.base import policy
from shoal import Anonymizer, FilterStats
from shoal.anonymizer.filter import Filter

WINDOW, FLOOR, K, TARGET = 12.0, 5, 2, 0.95
AUTO = {"auto": {"k": K, "probability": TARGET}, "floor": FLOOR}
RANKS = np.arange(1, 21)
LAWS = [(500, 0.2 / RANKS), (1000, 0.2 / RANKS), (1000, 0.25 / RANKS**0.6), (250, 0.1 / RANKS**1.5)]
PERIODS = 12  # of each law


def drifting() -> list[pa.RecordBatch]:
    """A batch a period: the population doubles, then the law of popularity changes, then both."""
    rng = np.random.default_rng(5)
    found = []
    for number in range(len(LAWS) * PERIODS):
        users, rates = LAWS[number // PERIODS]
        counts = rng.poisson(np.broadcast_to(rates * WINDOW, (users, len(rates))))
        who, what = np.repeat(np.argwhere(counts), counts[counts > 0], axis=0).T
        when = np.sort(rng.uniform(number * WINDOW, (number + 1) * WINDOW, len(who)))
        order = rng.permutation(len(who))
        found.append(pa.record_batch({"t": when, "user": who[order], "site": what[order]}))
    return found


def share(came: pa.RecordBatch, left: pa.RecordBatch) -> float:
    """The part of the users of a period who published what at least k of them did, nothing included."""
    sets: dict[str, set[int]] = defaultdict(set)
    for user, site in zip(left.column("user").to_pylist(), left.column("site").to_pylist(), strict=True):
        sets[user].add(site)
    alike = Counter(frozenset(each) for each in sets.values())
    alike[frozenset()] = len(came.column("user").unique()) - len(sets)
    return sum(size for size in alike.values() if size >= K) / alike.total()


def z_now(anonymizer: Anonymizer) -> int | None:
    assert isinstance(anonymizer.stats, FilterStats)
    return anonymizer.stats.z


@pytest.fixture(scope="module")
def run() -> tuple[NDArray[np.float64], list[int | None]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_SECRET", "sixteen bytes or more")
        anonymizer = Anonymizer(policy(AUTO, WINDOW))
    shares, zs = [], []
    for came in drifting():
        shares.append(share(came, anonymizer.push_batch(came)))
        zs.append(z_now(anonymizer))
    return np.array(shares).reshape(len(LAWS), PERIODS), zs


def test_the_share_stays_at_the_target_while_the_stream_drifts(run: tuple[NDArray[np.float64], list[int | None]]) -> None:
    shares, _ = run
    settled = shares[:, 2:].mean(axis=1)
    assert (settled > TARGET - 0.02).all()
    assert shares[:, 1:].mean() > TARGET - 0.02


def test_z_goes_where_the_stream_goes_and_not_below_the_floor(run: tuple[NDArray[np.float64], list[int | None]]) -> None:
    _, zs = run
    assert zs[0] is None
    known = [z for z in zs if z is not None]
    assert len(known) >= len(zs) - 2 and min(known) >= FLOOR
    first, doubled, flat, small = (np.median([z for z in zs[i * PERIODS + 3 : (i + 1) * PERIODS] if z]) for i in range(4))
    assert first < doubled < flat and small < first


def test_nothing_leaves_before_a_whole_window_was_counted() -> None:
    anonymizer = Anonymizer(policy(AUTO, WINDOW))
    first = drifting()[0]
    assert anonymizer.push_batch(first).num_rows == 0
    assert z_now(anonymizer) is None


def test_batches_and_snapshots_change_nothing() -> None:
    stream = drifting()[:6]
    straight, cut = Anonymizer(policy(AUTO, WINDOW)), Anonymizer(policy(AUTO, WINDOW))
    for came in stream:
        expected, found = straight.push_batch(came), []
        for first in range(0, came.num_rows, 777):
            other = Anonymizer(policy(AUTO, WINDOW))
            other.restore(cut.snapshot())
            cut = other
            found += cut.push_batch(came.slice(first, 777)).to_pylist()
        assert found == expected.to_pylist()
        assert cut.stats == straight.stats


def test_what_was_achieved_is_counted_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tuner gets the same share as the output shows."""
    anonymizer, reported = Anonymizer(policy(AUTO, WINDOW)), []
    assert isinstance(anonymizer._engine, Filter) and anonymizer._engine._tuning
    tuner = anonymizer._engine._tuning._tuner
    observe = tuner.observe

    def listening(users: int, counts: NDArray[np.int64], achieved: float | None = None) -> int:
        if achieved is not None:
            reported.append(achieved)
        return observe(users, counts, achieved)

    monkeypatch.setattr(tuner, "observe", listening)
    stream = drifting()[:8]
    seen = [share(came, anonymizer.push_batch(with_stranger(came))) for came in stream]
    assert reported == pytest.approx(seen[1:-1])


def with_stranger(came: pa.RecordBatch) -> pa.RecordBatch:
    """Behind the first of a period comes somebody of the period before, who is not one of this."""
    late = {"t": [came["t"][0].as_py() // WINDOW * WINDOW - 1], "user": [10**6], "site": [10**6]}
    parts = [came.slice(0, 1), pa.record_batch(late, schema=came.schema), came.slice(1)]
    return pa.Table.from_batches(parts).combine_chunks().to_batches()[0]


def test_whatever_leaves_was_exposed_by_the_z_of_its_moment() -> None:
    """Also where z has just risen."""
    anonymizer, rose, before = Anonymizer(policy(AUTO, WINDOW)), 0, 0
    last = np.full((len(RANKS), 1000), -np.inf)  # by site and user
    for came in drifting()[: 2 * PERIODS]:
        anonymizer.push_batch(came)
        z = dict(zip(*(anonymizer.trace.column(name).to_pylist() for name in ("row", "z")), strict=True))
        first = anonymizer.stats.received - came.num_rows
        for i, (t, user, site) in enumerate(zip(*(column.to_pylist() for column in came.columns), strict=True)):
            last[site, user] = t
            if first + i in z:
                assert (last[site] >= t - WINDOW).sum() >= z[first + i]
                rose, before = rose + (z[first + i] > before), z[first + i]
    assert rose > 5
