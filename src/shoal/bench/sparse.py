"""Sparse streams: what longer windows save, by how many persons arrive in one window."""

from __future__ import annotations

from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import Anonymizer, Stats
from shoal.bench.datasets import datasets
from shoal.bench.session import Session
from shoal.bench.settings import Contender
from shoal.bench.table import Table
from shoal.datasets import DataSet

RATES = (0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 4.0)  # persons that arrive in one window, in units of k
STRETCHES = (1, 2, 4)
_WINDOW = 60  # seconds


class Row(TypedDict):
    rate: float
    stretch: int
    loss: float
    suppressed: float  # share of the tuples
    wait: float  # the mean, in windows
    longest: float


class Sparse(TypedDict):
    algorithm: str
    data: str
    k: int
    rows: list[Row]


def measure(session: Session) -> Sparse:
    s = session.settings
    data = next(data for data in datasets(session.adult.folder.parent, s.seed) if data.misses).head(s.loss_tuples // 4)
    k, rows = s.loss_ks[0] * 2, []
    for i, rate in enumerate(RATES):
        session.step(f"{rate:g} k persons a window", i, len(RATES))
        rows += [_row(data, session.subject, k, rate, stretch, s.seed) for stretch in STRETCHES]
    return {"algorithm": session.subject.label, "data": data.name, "k": k, "rows": rows}


def _row(data: DataSet, contender: Contender, k: int, rate: float, stretch: int, seed: int) -> Row:
    """Arrivals at random, so many in a window on average."""
    gaps = np.random.default_rng(seed).exponential(_WINDOW / (rate * k), data.rows.num_rows)
    rows = data.rows.append_column("ts", pa.array(np.cumsum(gaps)))
    sections = {"time": {"field": "ts"}, "sparse": {"stretch": stretch}}
    policy = data.policy(contender.algorithm, k, {"time": _WINDOW}, sections=sections)
    anonymizer, waits = Anonymizer(policy), []
    for batch in rows.combine_chunks().to_batches(max_chunksize=512):
        anonymizer.push_batch(batch)
        waits.append(_waits(anonymizer))
    anonymizer.flush()
    stats = anonymizer.stats
    assert isinstance(stats, Stats)
    waited = np.concatenate([*waits, _waits(anonymizer)]) / _WINDOW
    return {
        "rate": rate, "stretch": stretch, "loss": stats.loss, "suppressed": stats.suppressed / stats.released,
        "wait": float(waited.mean()), "longest": float(waited.max()),
    }  # fmt: skip


def _waits(anonymizer: Anonymizer) -> np.ndarray:
    trace = anonymizer.trace
    waits: np.ndarray = pc.subtract(trace.column("released"), trace.column("arrived")).to_numpy(zero_copy_only=False)
    return waits


def tables(result: Sparse) -> list[Table]:
    rows = []
    for rate in RATES:
        own = [row for row in result["rows"] if row["rate"] == rate]
        cells = (f"{row['loss']:.3f}, {100 * row['suppressed']:.1f} %, {row['wait']:.2f}" for row in own)
        rows.append((f"{rate:g} k", *cells))
    header = ("persons a window", *(f"stretch {stretch}" if stretch > 1 else "suppress" for stretch in STRETCHES))
    title = f"Sparse streams: {result['algorithm']} on {result['data']} at k {result['k']}"
    note = "Loss, tuples suppressed, mean wait in windows; arrivals at random times."
    return [Table(title, header, rows, [note])]
