"""A stream through the engine: what it lost, how long it took, and what else a figure asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Anonymizer, Policy, Stats
from shoal.datasets import DataSet
from shoal.experiments.job import Job, Outcome
from shoal.experiments.published import Published
from shoal.experiments.streams import stream

_POINTS = 200  # of a curve over time


def stream_job(
    data: str,
    algorithm: Mapping[str, Any],
    k: int,
    window: Mapping[str, int],
    *,
    tuples: int | None,
    missing: int | None = None,
    quasi: int | None = None,
    nulls_match: str = "maybe",
    passes: int = 1,
    extras: Sequence[str] = (),
) -> Job:
    """One algorithm on one stream. `extras` names measures of `_EXTRAS`; of several timed passes the quickest counts."""
    return Job.of(
        "stream", data=data, algorithm=dict(algorithm), k=k, window=dict(window), tuples=tuples, missing=missing, quasi=quasi,
        nulls_match=nulls_match, extras=list(extras), passes=passes,
    )  # fmt: skip


def run_stream(data: Path, settings: Mapping[str, Any]) -> Outcome:
    """What comes of the stream, and how long it took."""
    found = stream(data, settings["data"], settings["tuples"], settings["missing"], settings["quasi"])
    policy = found.policy(settings["algorithm"], settings["k"], settings["window"], nulls_match=settings["nulls_match"])
    batches = found.rows.to_batches()
    stats, published = _published(policy, found, batches)
    times = [_times(policy, batches) for _ in range(settings["passes"])]
    seconds, elapsed = (min(column) for column in zip(*times, strict=True))
    usual = {
        "tuples": stats.released, "loss": stats.loss, "groups": stats.groups, "clustered": stats.clustered,
        "reused": stats.reused, "suppressed": stats.suppressed, "longest": stats.longest_wait,
        "wait": float(published.waits.mean()), "within": int(published.alike.sum()),
        "seconds": seconds, "elapsed": elapsed,
    }  # fmt: skip
    return {**usual, **{name: _EXTRAS[name](published, settings) for name in settings["extras"]}}


def _published(policy: Policy, data: DataSet, batches: Sequence[pa.RecordBatch]) -> tuple[Stats, Published]:
    anonymizer = Anonymizer(policy)
    outputs, traces = [], []
    for batch in [*batches, None]:
        outputs.append(anonymizer.flush() if batch is None else anonymizer.push_batch(batch))
        traces.append(anonymizer.trace)
    stats = anonymizer.stats
    assert isinstance(stats, Stats)
    table = pa.Table.from_batches(outputs).unify_dictionaries().combine_chunks()
    return stats, Published(data, table, pa.Table.from_batches(traces))


def _times(policy: Policy, batches: Sequence[pa.RecordBatch]) -> tuple[float, float]:
    """Arrow in, Arrow out: seconds of the processor, in which others on the machine do not count, and by the clock."""
    anonymizer = Anonymizer(policy)
    start, begin = process_time(), perf_counter()
    for batch in batches:
        anonymizer.push_batch(batch)
    anonymizer.flush()
    return process_time() - start, perf_counter() - begin


def _purity(published: Published, settings: Mapping[str, Any]) -> list[int]:
    return published.purity()


def _pollution(published: Published, settings: Mapping[str, Any]) -> float:
    return published.pollution()


def _added(published: Published, settings: Mapping[str, Any]) -> int:
    """Groups that enter the reuse set: those below `reuse_loss`; of IoT Anonymization those formed within a partition."""
    most = settings["algorithm"].get("reuse_loss", np.inf)
    fit = np.array([published.losses[members].mean() < most for members in published.clusters], bool)
    return int((fit & published.alike).sum() if settings["algorithm"]["name"] == "iot" else fit.sum())


def _cost(published: Published, settings: Mapping[str, Any]) -> float:
    return published.cost(0.02)


def _reusable(published: Published, settings: Mapping[str, Any]) -> dict[str, Any]:
    algorithm = settings["algorithm"]
    sizes = published.reusable(algorithm["reuse_age"], algorithm["name"] == "fast")
    every = max(1, len(sizes) // _POINTS)
    seen = np.bincount(sizes[published.released])
    return {"every": every, "sizes": sizes[::every].tolist(), "published": seen.tolist(), "largest": int(sizes.max())}


def _rounds(published: Published, settings: Mapping[str, Any]) -> list[int]:
    return np.bincount(published.rounds()).tolist()


_EXTRAS = {
    "purity": _purity, "pollution": _pollution, "added": _added, "cost": _cost, "reusable": _reusable, "rounds": _rounds,
}  # fmt: skip
