"""A stream that a page can be served beside, and a clock that tests move."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from threading import Event, Thread
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Anonymizer, Policy
from shoal.telemetry import Telemetry

K = 5
POLICY = f"""
person: pid
attributes:
  age:     {{quasi: numeric, range: [0, 100], grid: 5}}
  weight:  {{quasi: numeric, range: [0, 200]}}
  city:    {{quasi: categorical, hierarchy: {{World: {{France: [Paris, Lyon], Norway: [Oslo, Bergen]}}}}}}
  disease: {{sensitive: true}}
  note:    {{publish: keep}}
privacy: {{k: {K}}}
window: {{count: 200}}
algorithm: {{name: fads}}
"""
FILTER = {
    "person": "user",
    "time": {"field": "t"},
    "item": {"field": "site"},
    "attributes": {"note": {"publish": "keep"}},
    "algorithm": {"name": "zanon", "z": 3, "window": 3600},
}
CITIES = ["Paris", "Lyon", "Oslo", "Bergen"]


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def policy() -> Policy:
    return Policy.parse(POLICY)


def people(size: int, seed: int = 0, **changes: Any) -> pa.RecordBatch:
    """Records that the policy accepts."""
    random = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "pid": random.integers(10_000, size=size),
        "age": random.integers(101, size=size),
        "weight": pa.array(random.random(size) * 200, mask=random.random(size) < 0.2),
        "city": [CITIES[i] for i in random.integers(4, size=size)],
        "disease": ["flu"] * size,
        "note": ["n"] * size,
    }
    return pa.RecordBatch.from_pydict({**columns, **changes})


def telling(clock: Clock, policy: Policy) -> Telemetry:
    return Telemetry(policy, clock=clock, random=Random(1))


class Stage:
    """A stream in a thread of its own."""

    def __init__(self, telemetry: Telemetry | None = None) -> None:
        self.anonymizer = Anonymizer(policy())
        self.telemetry = telemetry or Telemetry(self.anonymizer.policy)
        self._ending = Event()
        self._thread = Thread(target=self._run)

    def _run(self) -> None:
        seed = 0
        while not self._ending.wait(0.02):
            seed += 1
            age = pa.array([300 if n == 7 else n for n in range(40)])
            self.telemetry.after(self.anonymizer, self.anonymizer.push_batch(people(40, seed, age=age)))

    def start(self) -> None:
        self._thread.start()

    def stop(self, reason: str = "the source closed") -> None:
        """End the stream, once."""
        if not self._ending.is_set():
            self._ending.set()
            self._thread.join()
            self.telemetry.after(self.anonymizer, self.anonymizer.flush())
            self.telemetry.stopped(reason)


@contextmanager
def playing(telemetry: Telemetry | None = None) -> Iterator[Stage]:
    """A stream that ends with the test at the latest."""
    stage = Stage(telemetry)
    stage.start()
    try:
        yield stage
    finally:
        stage.stop()
