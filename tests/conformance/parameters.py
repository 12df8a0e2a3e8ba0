"""The parameters that generated streams are run with."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from tests.conformance.streams import Stream, streams

COMMON = {
    "reuse_age": st.sampled_from([0, 1, 3, 10, 100]),
    "reuse_limit": st.sampled_from([0, 1, 2, 5, 200]),
    "reuse_loss": st.sampled_from([0.0, 0.2, 0.5, 1.0]),
}
OWN = {"kvarp": {"radius": st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])}}
WINDOWS = ("count", "time", "buffer")


def examples(number: int) -> settings:
    return settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))


def generated(name: str, *kinds: str, **options: Any) -> st.SearchStrategy[Stream]:
    """Streams for an algorithm, under windows of the given kinds, or of all."""
    return streams(
        st.fixed_dictionaries({}, optional={**COMMON, **OWN.get(name, {})}), kinds=kinds or WINDOWS, **options
    )
