"""A sample replayed at once against the filter that sees it one by one."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from naive.zanon import Observation, Zanon
from shoal.model.sample import Sample, trailing

EVENTS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 6), st.integers(0, 3)), min_size=1, max_size=60)


def observations(steps: list[tuple[int, int, int]]) -> list[Observation]:
    times = np.cumsum([step for step, _, _ in steps]).tolist()
    return [Observation(float(t), user, item) for t, (_, user, item) in zip(times, steps, strict=True)]


@given(steps=EVENTS, window=st.integers(0, 20))
def test_counts_are_those_of_the_twin(steps: list[tuple[int, int, int]], window: int) -> None:
    seen = observations(steps)
    twin = Zanon(1, window)
    time, user, item = (np.array(column) for column in zip(*seen, strict=True))
    assert trailing(time, user, item, window).tolist() == [twin.count(o.item, o) for o in seen]


@given(steps=EVENTS, window=st.integers(1, 20), z=st.integers(1, 5), k=st.integers(1, 4))
def test_shares_are_those_of_what_the_twin_publishes(steps: list[tuple[int, int, int]], window: int, z: int, k: int) -> None:
    seen = [o._replace(time=o.time - steps[0][0]) for o in observations(steps)]
    full = int(seen[-1].time // window)
    if not full:
        return
    cut = Sample(*zip(*seen, strict=True)).cut(window)
    used = range(min(1, full - 1), full)
    sets: dict[tuple[float, int], set[int]] = {(o.time // window, o.user): set() for o in seen if o.time // window in used}
    published = [p for p in Zanon(z, window).run(seen) if p.period in used]
    for p in published:
        sets[p.period, p.user].add(p.item)
    alike = Counter((period, frozenset(items)) for (period, _), items in sets.items())
    hidden = sum(count for count in alike.values() if count >= k)
    arrived = sum(o.time // window in used for o in seen)
    assert cut.share(z, k) == hidden / max(1, len(sets))
    assert cut.kept(z) == len(published) / max(1, arrived)
    if sets:
        assert cut.silent(z) == sum(not items for items in sets.values()) / len(sets)
        assert cut.number == len({period for period, _ in sets})
