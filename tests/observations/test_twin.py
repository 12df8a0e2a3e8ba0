"""The filter and its naive twin, observation by observation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from naive.zanon import Observation, Zanon
from observations.base import LEAVES, TREE, batch, decided, policy, pushed
from shoal import Anonymizer
from shoal.algorithms.zanon import exposures
from shoal.anonymizer import filter as engine
from shoal.policy import Hierarchy

STEPS = st.sampled_from([0, 0, 0, 1, 1, 2, 0.5, 7, 30, -1, -2, -4, -9])
USERS = st.integers(1, 7)
ITEMS = st.sampled_from([*LEAVES, "bbc", "unknown", "12"])
STREAMS = st.lists(st.tuples(STEPS, USERS, ITEMS), max_size=80)
CUTS = st.lists(st.integers(0, 80), max_size=6)


def stream(steps: list[tuple[float, Any, Any]]) -> list[Observation]:
    now, found = 100.0, []
    for step, user, item in steps:
        now += step
        found.append(Observation(now, user, item))
    return found


def paths() -> dict[Any, list[str]]:
    """The way to the root from every node, leaf or not."""
    lines = Hierarchy.of([line.split() for line in ("news.bbc bbc news any", "sport.bbc bbc news any")]).lines()
    lines += [["lemonde", "press", "news", "any"], ["amazon", "shops", "any"]]
    return {line[i]: line[i:] for line in lines for i in range(len(line))}


def compare(seen: list[Observation], twin: Zanon, anonymizer: Anonymizer, cuts: list[int]) -> None:
    expected = twin.run(seen)
    found = pushed(anonymizer, seen, cuts)
    assert [(f.row, f.time, f.item) for f in found] == [(e.row, e.time, e.item) for e in expected]
    names: dict[tuple[Any, float], str] = {}
    for f, e in zip(found, expected, strict=True):
        assert names.setdefault((e.user, e.period), f.user) == f.user
    assert len(set(names.values())) == len(names)
    stats = anonymizer.stats
    assert (stats.received, stats.rejected) == (len(seen), len(twin.rejected))
    blank = sum(e.item is None for e in expected)
    assert stats.released == len(expected) - blank
    assert stats.released + stats.withheld == len(seen) - len(twin.rejected)


@given(steps=STREAMS, cuts=CUTS, z=st.integers(1, 4), window=st.sampled_from([0, 0.5, 3, 8]), blank=st.booleans())
def test_plain(steps: list[Any], cuts: list[int], z: int, window: float, blank: bool) -> None:
    withheld = "blank" if blank else "drop"
    compare(stream(steps), Zanon(z, window, withheld=withheld), Anonymizer(policy(z, window, withheld=withheld)), cuts)


@given(steps=STREAMS, cuts=CUTS, z=st.integers(1, 4), window=st.sampled_from([0, 0.5, 3, 8]), blank=st.booleans())
def test_with_a_hierarchy(steps: list[Any], cuts: list[int], z: int, window: float, blank: bool) -> None:
    withheld = "blank" if blank else "drop"
    twin = Zanon(z, window, withheld=withheld, paths=paths())
    compare(stream(steps), twin, Anonymizer(policy(z, window, withheld=withheld, tree=TREE)), cuts)


@pytest.mark.parametrize("seed", range(40))
def test_rings_that_grow_and_users_who_come_again_and_again(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few items with many users, some of whom come most of the time; some observations are late, and z is where it matters."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(exposures, "ROOM", int(rng.choice([1, 64, 1 << 12])))
    monkeypatch.setattr(exposures, "_SEEN", int(rng.choice([8, 1 << 10])))
    users, late = int(rng.integers(2, 60)), float(rng.choice([0, 0.02, 0.3]))
    z, window = int(rng.integers(1, users + 2)), float(rng.choice([5, 60, 400]))
    steps = np.where(rng.random(1500) < late, -rng.integers(0, int(1.5 * window), 1500), rng.integers(0, 3, 1500))
    who = np.minimum(rng.integers(1, users + 1, 1500), rng.integers(1, users + 1, 1500) ** int(rng.integers(1, 3)))
    now, seen = 1000.0, []
    for step, user, item in zip(steps, who, rng.integers(0, 3, 1500), strict=True):
        now += max(step, 0)
        seen.append(Observation(now + min(step, 0), int(user), int(item)))
    compare(seen, Zanon(z, window), Anonymizer(policy(z, window)), rng.integers(0, 1500, 3).tolist())


@given(
    steps=st.lists(st.tuples(STEPS, USERS, st.integers(0, 30)), min_size=20, max_size=200),
    cuts=CUTS, z=st.integers(1, 3), window=st.sampled_from([0, 1, 3]), pause=st.integers(1, 20),
    room=st.sampled_from([1, 8]),
)  # fmt: skip
def test_sweeps_of_what_is_old(
    steps: list[Any], cuts: list[int], z: int, window: float, pause: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PAUSE", pause)
    monkeypatch.setattr(exposures, "ROOM", room)
    monkeypatch.setattr(exposures, "_ITEMS", 2)
    compare(stream(steps), Zanon(z, window, pause=pause), Anonymizer(policy(z, window)), cuts)


@given(
    steps=STREAMS, cuts=CUTS, z=st.integers(1, 3), window=st.sampled_from([0, 3, 8]), pause=st.integers(1, 20),
    room=st.sampled_from([1, 8]),
)  # fmt: skip
def test_sweeps_under_a_hierarchy(
    steps: list[Any], cuts: list[int], z: int, window: float, pause: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PAUSE", pause)
    monkeypatch.setattr(exposures, "ROOM", room)
    twin = Zanon(z, window, paths=paths(), pause=pause)
    compare(stream(steps), twin, Anonymizer(policy(z, window, tree=TREE)), cuts)


def test_a_user_that_was_swept_away_counts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other item is far ahead when the sweep comes; then a user comes to the first, within a window of both its users."""
    monkeypatch.setattr(engine, "PAUSE", 3)
    seen = [Observation(0, 1, "a"), Observation(8, 2, "a"), Observation(24, 3, "b"), Observation(9, 2, "a")]
    compare(seen, Zanon(2, 10, pause=3), Anonymizer(policy(2, 10)), [])
    assert [f.row for f in pushed(Anonymizer(policy(2, 10)), seen)] == [1]


@given(steps=STREAMS, at=st.integers(0, 80), z=st.integers(1, 3), window=st.sampled_from([0, 3, 8]), tree=st.booleans())
def test_a_snapshot_changes_nothing(
    steps: list[Any], at: int, z: int, window: float, tree: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "PAUSE", 16)
    rule = policy(z, window, withheld="blank", tree=TREE if tree else None)
    seen, straight, first, second = stream(steps), Anonymizer(rule), Anonymizer(rule), Anonymizer(rule)
    expected = pushed(straight, seen)
    found = pushed(first, seen[:at])
    second.restore(first.snapshot())
    assert second.stats == first.stats
    assert found + pushed(second, seen[at:]) == expected
    assert second.stats == straight.stats


def test_the_first_sweep_after_a_snapshot_goes_by_the_newest_time_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """What came before the snapshot is far ahead of all that comes after it."""
    monkeypatch.setattr(engine, "PAUSE", 4)
    seen = [
        Observation(0, 1, "a"),
        Observation(24, 3, "b"),
        Observation(5, 4, "c"),
        Observation(6, 5, "c"),
        Observation(9, 2, "a"),
    ]
    first, second = Anonymizer(policy(2, 10)), Anonymizer(policy(2, 10))
    pushed(first, seen[:2])
    second.restore(first.snapshot())
    assert [f.row for f in pushed(second, seen[2:])] == [3]
    compare(seen, Zanon(2, 10, pause=4), Anonymizer(policy(2, 10)), [2])


def test_a_thousand_times_the_same() -> None:
    often = [Observation(t / 1000, 1, "a") for t in range(1000)]
    assert pushed(Anonymizer(policy(2, 5)), often) == []
    assert [f.row for f in pushed(Anonymizer(policy(2, 5)), [*often, Observation(1, 2, "a")])] == [1000]


def test_one_record_at_a_time_is_the_same() -> None:
    seen = stream([(1, user, item) for user in range(4) for item in LEAVES] * 3)
    whole, single = Anonymizer(policy(3, 9, tree=TREE)), Anonymizer(policy(3, 9, tree=TREE))
    found = []
    for o in seen:
        found += decided(single, single.push_batch(batch([o])))
    assert found == pushed(whole, seen)
    assert single.stats == whole.stats
