"""Streams and policies at the bounds of what there is room for."""

from __future__ import annotations

from typing import Any

import pytest

from shoal import Anonymizer, Policy


def anonymizer(algorithm: str = "fads", window: int = 3, reuse_age: int = 0, **more: Any) -> Anonymizer:
    attributes = {"age": {"quasi": "numeric", "range": [0, 100]}, "illness": {"sensitive": True}}
    chosen = {"name": algorithm, "reuse_age": reuse_age}
    written = {"person": "pid", "attributes": attributes, "window": {"count": window}, "algorithm": chosen}
    return Anonymizer(Policy.parse({**written, "privacy": {"k": 2}, **more}))


@pytest.mark.parametrize(("asked", "reused"), [(2, 196), ({"entropy": 1.5}, 2 * 62)])
def test_one_group_that_shows_more_values_than_the_window_has_slots(asked: Any, reused: int) -> None:
    """What is shown is counted in a room that the window's few slots must not bound."""
    one = anonymizer(privacy={"k": 2, "l": asked, "one_in_k": False}, reuse_age=10**6)
    room = 0
    for i in range(200):
        one.push({"pid": min(i, 2), "age": (0, 100)[i] if i < 2 else 50, "illness": f"illness {i}"})
        scratch = one._engine._lane.state.scratch
        room = scratch.value.shape[1]
        assert scratch.shown[0] < room
    one.flush()
    assert room < 200
    assert (one.stats.clustered, one.stats.reused) == (4, reused)
    assert one.stats.faults == {}


@pytest.mark.parametrize("algorithm", ["fads", "tide"])
def test_a_window_that_may_be_stretched_without_end(algorithm: str) -> None:
    one = anonymizer(algorithm, window=10, sparse={"stretch": 1e308})
    for i in range(60):
        assert one.push({"pid": "p", "age": i, "illness": None}) == []
    assert len(one.push({"pid": "q", "age": 7, "illness": None})) > 1
    assert one.stats.faults == {}
