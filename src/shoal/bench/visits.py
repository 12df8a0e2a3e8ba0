"""Visits of a day: users, and sites whose popularity follows Zipf's law."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import yaml  # type: ignore[import-untyped, unused-ignore]

from shoal.bench.settings import Settings

Z, WINDOW = 20, 3600
_POLICY = {
    "person": "user",
    "time": {"field": "t"},
    "item": {"field": "site"},
    "algorithm": {"name": "zanon", "z": Z, "window": WINDOW, "secret_file": "secret.txt"},
}
_DAY = 86_400.0
_A_DAY = 10_000_000  # observations: so many users make ten each


def visits(settings: Settings) -> Iterator[pa.RecordBatch]:
    """Batches of integers in order of time, at an even rate; a shorter stream ends earlier in the day."""
    rng = np.random.default_rng(settings.seed)
    heap = np.cumsum(1 / np.arange(1, settings.items + 1))
    size, done = settings.observations, 0
    while done < size:
        some = min(settings.batch, size - done)
        time = _DAY / _A_DAY * (done + np.sort(rng.uniform(0, some, some)))
        user = rng.integers(0, settings.users, some)
        site = np.searchsorted(heap, rng.uniform(0, heap[-1], some))
        yield pa.record_batch({"t": time, "user": user, "site": site})
        done += some


def write(batches: list[pa.RecordBatch], path: Path, settings: Settings) -> None:
    """The same with names instead of numbers, as Parquet."""
    users = pa.array([f"user-{number}" for number in range(settings.users)])
    sites = pa.array([f"site-{number}.example" for number in range(settings.items)])
    schema = pa.schema({"t": pa.float64(), "user": pa.string(), "site": pa.string()})
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            named = [batch.column("t"), users.take(batch.column("user")), sites.take(batch.column("site"))]
            writer.write_batch(pa.record_batch(named, schema=schema))


def write_filter(home: Path) -> Path:
    """A policy of z-anonymity for them, with its secret."""
    (home / "secret.txt").write_text("a secret of the benchmark\n")
    policy = home / "policy.yaml"
    policy.write_text(yaml.safe_dump(_POLICY), encoding="utf-8")
    return policy
