"""What all twins promise, on generated streams."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from naive import ALGORITHMS, Arrival, Numeric, Tick, simulate
from naive.common import Attribute
from naive.samples import EDUCATION_5, TEN

STREAM_ATTRIBUTES: list[Attribute] = [TEN, EDUCATION_5, Numeric(-1.0, 1.0)]
ROWS = st.lists(
    st.tuples(
        st.integers(0, 6),
        st.none() | st.integers(0, 10).map(float),
        st.none() | st.sampled_from(sorted(EDUCATION_5.paths)),
        st.none() | st.sampled_from([-1.0, -0.3, 0.0, 0.7]),
    ),
    max_size=40,
)


@pytest.mark.parametrize("kind", ["count", "buffer"])
@pytest.mark.parametrize("name", ALGORITHMS)
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, k=st.integers(1, 4), length=st.integers(4, 12))
def test_every_tuple_leaves_once_in_time_and_in_company(name: str, kind: str, rows: list, k: int, length: int) -> None:
    releases = simulate(name, STREAM_ATTRIBUTES, k, (kind, length), [Arrival(r[0], tuple(r[1:])) for r in rows])
    assert sorted(r.row for r in releases) == list(range(len(rows)))
    groups, generalizations = defaultdict(set), {}
    for r in releases:
        assert r.arrived == r.row
        if kind == "count":
            assert 0 <= r.released - r.arrived <= (2 * length if name == "xband" else length)
        values = rows[r.row][1:]
        if r.how == "suppressed":
            assert r.cluster is None
            assert r.generalization == tuple(a.root for a in STREAM_ATTRIBUTES)
            continue
        imputed = name == "iot" and any(g is not None and len(g) == 3 for g in r.generalization)
        for q, (a, v, g) in enumerate(zip(STREAM_ATTRIBUTES, values, r.generalization, strict=True)):
            if g is not None and imputed:
                assert g[1] >= k
                assert g[2] >= 1
                g = g[0]
            assert (v is None) == (g is None) or imputed
            assert v is None or a.contains(g, v)
            assert g is None or generalizations.setdefault((r.cluster, q), g) == g
        if r.how == "cluster":
            groups[r.cluster].add(rows[r.row][0])
        else:
            assert r.how == "reuse"
            assert r.cluster in groups
    assert sorted(groups) == list(range(len(groups)))
    assert all(len(members) >= k for members in groups.values())


@pytest.mark.parametrize("name", [name for name in ALGORITHMS if name != "fast"])
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, steps=st.lists(st.integers(-2, 5), min_size=80, max_size=80), k=st.integers(1, 4))
def test_time_window_never_passes_over_a_due_tuple(name: str, rows: list, steps: list[int], k: int) -> None:
    events, clocks, arrived, own, now = [], [], [], 0.0, 0.0
    for n, r in enumerate(rows):
        for tick, step in ((False, steps[2 * n]), (True, steps[2 * n + 1])):
            own += step
            now = max(now, own) if clocks else own
            clocks.append(now)
            events.append(Tick(own) if tick else Arrival(r[0], tuple(r[1:]), own))
            if not tick:
                arrived.append(now)
    releases = simulate(name, STREAM_ATTRIBUTES, k, ("time", 6.0), events)
    assert {r.row: r.arrived for r in releases} == dict(enumerate(arrived))
    for r in releases:
        latest = r.arrived
        for wait in (6.0, 6.0) if name == "xband" else (6.0,):
            latest = min((c for c in clocks if c >= latest + wait), default=clocks[-1])
        assert r.released <= latest
