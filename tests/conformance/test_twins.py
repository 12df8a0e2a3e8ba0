"""Every algorithm releases what its naive twin releases: row, outcome, group, generalization, times, in the same order."""

from __future__ import annotations

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
OWN = {"kvarp": {"radius": st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])}}


@pytest.mark.parametrize("name", NAMES)
def test_releases_equal_the_naive_twins(name: str) -> None:
    @settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
    @given(streams(st.fixed_dictionaries({}, optional={**COMMON, **OWN.get(name, {})})))
    def agree(stream: Stream) -> None:
        assert engine(Anonymizer(policy_of(name, stream)), stream) == twin(name, stream)

    agree()
