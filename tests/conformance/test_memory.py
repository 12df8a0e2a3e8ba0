"""Memory depends on the window and the reuse set, never on the length of the stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal import Anonymizer, Policy
from shoal.algorithms import WINDOWED
from shoal.anonymizer import lanes
from shoal.conformance.parameters import WINDOWS

pytestmark = pytest.mark.slow

LENGTH, BATCH = 1000, 250
POLICY: dict[str, Any] = {
    "person": "pid",
    "attributes": {
        "a": {"quasi": "numeric", "range": [0, 1]},
        "b": {"quasi": "categorical", "hierarchy": {"any": {"l": ["x", "y"], "r": ["z"]}}},
        "note": {"publish": "keep"},
    },
    "privacy": {"k": 20},
}


def batches(windows: int) -> Iterator[pa.RecordBatch]:
    """Ten records a second; new persons all the time, and a new note each."""
    random = np.random.default_rng(1)
    for start in range(0, windows * LENGTH, BATCH):
        rows = np.arange(start, start + BATCH)
        a, b = random.random(BATCH), random.choice(["x", "y", "z"], BATCH)
        missing = random.random((2, BATCH)) < 0.3
        yield pa.RecordBatch.from_pydict({
            "pid": rows // 2, "ts": rows / 10, "a": pa.array(a, mask=missing[0]), "b": pa.array(b, mask=missing[1]),
            "note": [f"note {row:07}" for row in rows],
        })  # fmt: skip


def held(value: Any) -> int:
    """The bytes of all arrays inside."""
    if isinstance(value, tuple):
        return sum(map(held, value))
    return int(getattr(value, "nbytes", 0))


def size(anonymizer: Anonymizer) -> dict[str, int]:
    lane = anonymizer._engine._lane
    lanes = getattr(lane, "_all", [lane])
    sizes = {f"{i} {name}": held(part) for i, lane in enumerate(lanes) for name, part in lane.state._asdict().items()}
    return {**sizes, "payloads": held(anonymizer._engine._core.payloads.content)}


@pytest.mark.long
@pytest.mark.parametrize("kind", WINDOWS)
@pytest.mark.parametrize("name", WINDOWED)
def test_memory_does_not_grow_with_the_stream(name: str, kind: str) -> None:
    """The most that each part ever took stays what it was after ten times the window, up to the hundredth time."""
    window = {kind: LENGTH if kind != "time" else LENGTH / 10}
    age = {"reuse_age": "100s"} if name == "fast" and kind == "time" else {}
    algorithm = {"name": name, "reuse_limit": 20, **age}
    does_not_grow({**POLICY, "window": window, "algorithm": algorithm, "time": {"field": "ts"}}, 100)


@pytest.mark.parametrize("split", [{"lanes": 3, "algorithm": {"name": "fads"}}, {"algorithm": {"name": "fast", "workers": 3}}])
def test_nor_do_lanes_and_workers(split: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "_FEW", 0)
    split["algorithm"]["reuse_limit"] = 20
    does_not_grow({**POLICY, "window": {"count": LENGTH}, **split}, 40, 1.5)  # a lane's share of the window varies


def does_not_grow(policy: dict[str, Any], windows: int, leeway: float = 1.1) -> None:
    anonymizer = Anonymizer(Policy.parse(policy))
    peak: dict[str, int] = {}
    for number, batch in enumerate(batches(windows), 1):
        anonymizer.push_batch(batch)
        peak = {part: max(peak.get(part, 0), now) for part, now in size(anonymizer).items()}
        if number * BATCH == 10 * LENGTH:
            early, snapshot = peak, len(anonymizer.snapshot())
    assert anonymizer.stats.released >= (windows - 2) * LENGTH
    assert {part: now for part, now in peak.items() if now > leeway * early[part]} == {}
    assert len(anonymizer.snapshot()) < 2 * snapshot  # it holds what waits just then


def test_payloads_of_released_tuples_are_freed() -> None:
    policy = {**POLICY, "window": {"count": LENGTH}, "algorithm": {"name": "fads"}}
    anonymizer = Anonymizer(Policy.parse(policy))
    most = 0
    for batch in batches(30):
        anonymizer.push_batch(batch)
        most = max(most, len(anonymizer._engine._core.payloads.content.rows))
    assert most < 10 * LENGTH
