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
OWN: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "kvarp": {"radius": st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0])},
    "xband": {"band": st.integers(1, 6), "alpha": st.sampled_from([0.0, 0.3, 0.5, 1.0])},
    "castle": {"clusters": st.integers(1, 6), "recent": st.integers(1, 4)},
    "tide": {"effort": st.sampled_from(["quick", "thorough"])},
}
WINDOWS = ("count", "time", "buffer")


def examples(number: int) -> settings:
    return settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))


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
    common = st.fixed_dictionaries({}, optional=COMMON)
    return st.tuples(given | st.just({}), common).map(lambda both: both[0] | both[1])


def generated(name: str, *kinds: str, **options: Any) -> st.SearchStrategy[Stream]:
    """Streams for an algorithm, under windows of the given kinds, or of all."""
    return streams(lambda k, window: parameters(name, k, window), kinds=kinds or WINDOWS, **options)
