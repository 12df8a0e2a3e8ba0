"""Contention for the lock: eight workers of FAST with rounds of two, so that one publishes at nearly every moment."""

from __future__ import annotations

import random

import pyarrow as pa

from shoal import Anonymizer, Policy, WorkerError
from shoal.anonymizer.workers import Workers

SIZE = 60_000
POLICY = """
person: pid
attributes: {x: {quasi: numeric, range: [0, 100]}}
privacy: {k: 2}
window: {count: 64}
algorithm: {name: fast, round: 2, workers: 8, reuse_age: 100000, reuse_limit: 50}
"""


def violations(seed: int) -> list[str]:
    """What went wrong in one stream."""
    draw = random.Random(seed)
    anonymizer = Anonymizer(Policy.parse(POLICY))
    try:
        values = [draw.uniform(0, 100) for _ in range(SIZE)]
        anonymizer.push_batch(pa.RecordBatch.from_pydict({"pid": range(SIZE), "x": values}))
        rows = anonymizer.trace.column("row").to_pylist()
        anonymizer.flush()
        rows += anonymizer.trace.column("row").to_pylist()
    except WorkerError:
        return ["a thread failed"]
    workers: Workers = anonymizer._engine._lane  # type: ignore[attr-defined]
    reuse = workers._all[0].state.reuse
    kept = reuse.number[: int(reuse.rule.entries)].tolist()
    stats = anonymizer.stats
    wrong = {
        "some did not leave once": sorted(rows) != list(range(SIZE)),
        "a fault": bool(stats.faults),
        "an entry twice, or one of no group": len(set(kept)) < len(kept) or not set(kept) <= set(range(stats.groups)),
    }
    return [name for name, is_so in wrong.items() if is_so]
