"""The recount against one that goes observation by observation."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.audit.observations.recount import NO_NODE, above, recount

PATHS = ((0, 4, 6), (1, 4, 6), (2, 5, 6), (3, 6, NO_NODE), (4, 6, NO_NODE), (6, NO_NODE, NO_NODE), (7, NO_NODE, NO_NODE))
OBSERVATIONS = st.lists(st.tuples(st.sampled_from(PATHS), st.integers(0, 6), st.integers(0, 60)), max_size=60)


def plain(observations, window):
    newest, seen, users, rejected = {}, {}, [], []
    for path, user, time in observations:
        counts = [0] * len(path)
        rejected.append(time < newest.get(path[0], -math.inf) - window)
        for level, node in enumerate(path):
            if rejected[-1] or node == NO_NODE:
                continue
            newest[node] = max(newest.get(node, -math.inf), time)
            if time < newest[node] - window:
                continue
            times = seen.setdefault(node, {})
            times[user] = max(times.get(user, -math.inf), time)
            others = [each for each in times if each != user and newest[node] - window <= times[each] <= time]
            counts[level] = 1 + len(others)
        users.append(counts)
    return users, rejected


@given(OBSERVATIONS, st.sampled_from([0, 1, 7, 20]), st.booleans())
def test_every_count_is_that_of_a_plain_one(observations, window, ordered):
    if ordered:
        observations = sorted(observations, key=lambda each: each[2])
    path = np.array([each[0] for each in observations], np.int32).reshape(-1, 3)
    user = np.array([each[1] for each in observations], np.int32)
    time = np.array([each[2] for each in observations], np.float64)
    found = recount(path, user, time, window)
    assert (found.users.tolist(), found.rejected.tolist()) == plain(observations, window)
    assert not (ordered and (found.rejected.any() or found.behind.any()))


@given(st.lists(st.integers(0, 40), min_size=1, max_size=50), st.integers(0, 49), st.integers(0, 50), st.integers(0, 50))
def test_above_counts_what_is_above(values, low, length, bound):
    low = min(low, len(values))
    high = min(low + length, len(values))
    found = above(np.array(values), np.array([low]), np.array([high]), np.array([bound]))
    assert found.tolist() == [sum(value > bound for value in values[low:high])]
