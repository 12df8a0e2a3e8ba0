"""Every algorithm releases what its naive twin releases: row, outcome, group, generalization, times, in the same order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal import Anonymizer
from shoal.algorithms import NAMES
from tests.conformance.streams import Stream, engine, policy_of, streams, twin

COMMON = {
    "reuse_age": st.sampled_from([0, 1, 3, 10, 100]),
    "reuse_limit": st.sampled_from([0, 1, 2, 5, 200]),
    "reuse_loss": st.sampled_from([0.0, 0.2, 0.5, 1.0]),
}
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "kvarp": {"radius": st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])},
    "xband": {"band": st.integers(1, 6), "alpha": st.sampled_from([0.0, 0.3, 0.5, 1.0])},
    "castle": {"clusters": st.integers(1, 6), "recent": st.integers(1, 4)},
}


def parameters(name: str, k: int, window: tuple[str, float]) -> st.SearchStrategy[dict[str, Any]]:
    """Any parameters that a policy may give this algorithm."""
    if name != "fast":
        return st.fixed_dictionaries({}, optional={**COMMON, **OWN.get(name, {})})
    kind, length = window
    if kind == "time":
        rounds = {"round": st.integers(k, k + 8), "deadline": st.sampled_from([k + 8.0, k + 30.0])}
        optional = {name: COMMON[name] for name in ("reuse_limit", "reuse_loss")}
        return st.fixed_dictionaries({"reuse_age": COMMON["reuse_age"], **rounds}, optional=optional)
    deadline = st.integers(k, int(length) + 20)
    given = deadline.flatmap(lambda d: st.fixed_dictionaries({"deadline": st.just(d), "round": st.integers(k, d)}))
    return st.tuples(given | st.just({}), st.fixed_dictionaries({}, optional=COMMON)).map(lambda both: both[0] | both[1])


@pytest.mark.parametrize("name", NAMES)
def test_releases_equal_the_naive_twins(name: str) -> None:
    @settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
    @given(streams(lambda k, window: parameters(name, k, window)))
    def agree(stream: Stream) -> None:
        assert engine(Anonymizer(policy_of(name, stream)), stream) == twin(name, stream)

    agree()
