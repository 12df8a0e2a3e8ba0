"""The data of the benchmarks: UCI Adult as a stream of any length, the data sets of the losses, generated visits."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import yaml  # type: ignore[import-untyped, unused-ignore]

from shoal.bench.workload import Variant, Workload
from shoal.datasets import QUASI, SENSITIVE, DataSet, adult, found, informs, losses, weather
from shoal.formats import open_writer
from shoal.policy import Policy

Z, WINDOW = 20, 3600
_FILTER = {
    "person": "user",
    "time": {"field": "t"},
    "item": {"field": "site"},
    "algorithm": {"name": "zanon", "z": Z, "window": WINDOW, "secret_file": "secret.txt"},
}
_DAY = 86_400.0
_PER_DAY = 10_000_000  # observations: ten of each of a million users


@dataclass(frozen=True)
class Adult:
    """The complete rows of `adult.data`, and the streams and policies made of them."""

    folder: Path

    def policy(self, variant: Variant, workload: Workload) -> Policy:
        return Policy.parse(self.document(variant, workload), self.folder)

    def document(self, variant: Variant, workload: Workload) -> dict[str, Any]:
        """The policy as it is written beside the folder of hierarchies: each row is a person, the first columns are quasi."""
        attributes: dict[str, Any] = {}
        for name, span in list(QUASI.items())[: workload.quasi]:
            domain = {"quasi": "numeric", "range": list(span)} if span else None
            attributes[name] = domain or {"quasi": "categorical", "hierarchy": adult.hierarchy(name)}
        return {
            "person": "none",
            "attributes": {**attributes, SENSITIVE: {"sensitive": True}},
            "privacy": {"k": workload.k, "nulls_match": workload.nulls_match},
            "window": {"count": workload.window},
            "algorithm": variant.algorithm,
        }

    def write_policy(self, variant: Variant, workload: Workload, home: Path) -> Path:
        """Write the policy with its hierarchies into a folder."""
        path = home / "policy.yaml"
        path.write_text(yaml.safe_dump(self.document(variant, workload), sort_keys=False), encoding="utf-8")
        shutil.copytree(self.folder / "hierarchies", home / "hierarchies", copy_function=shutil.copyfile)
        return path

    def stream(self, tuples: int, workload: Workload) -> list[pa.RecordBatch]:
        """So many tuples in batches, labels as dictionaries: the rows again and again, each time in another order."""
        random = np.random.default_rng(workload.seed)
        rows = self.rows.num_rows
        order = np.concatenate([random.permutation(rows) for _ in range(-(-tuples // rows))])[:tuples]
        lost = losses(tuples, workload.quasi, min(workload.missing, workload.quasi - 1), random)
        columns = {
            name: self.rows.column(name).chunk(0).take(pa.array(order, mask=lost[q]))
            for q, name in enumerate(list(QUASI)[: workload.quasi])
        }
        columns[SENSITIVE] = self.rows.column(SENSITIVE).chunk(0).take(pa.array(order))
        return pa.table(columns).to_batches(max_chunksize=workload.batch)

    @cached_property
    def rows(self) -> pa.Table:
        return adult.rows(self.folder)


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same batch with its labels as strings."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def write_stream(stream: Sequence[pa.RecordBatch], path: Path) -> None:
    """Write a stream to a file whose name tells its format, labels as strings."""
    with open_writer(str(path)) as writer:
        for batch in stream:
            writer.write(plain(batch))


def datasets(data: Path, seed: int) -> Iterator[DataSet]:
    """The data sets of the losses that lie in the folder: UCI Adult, INFORMS 2008, UCI PM2.5 of five Chinese cities."""
    people = adult.dataset(data / "adult")
    yield from (people.missing(most, seed) for most in (0, 3, 7))
    if source := found(data / informs.PLACE.path):
        yield informs.dataset(source).missing(2, seed)
    for city in weather.CITIES:
        if source := found(data / weather.place(city).path):
            yield weather.dataset(source, city)


def visits(workload: Workload) -> Iterator[pa.RecordBatch]:
    """Visits of users to sites whose popularity follows Zipf's law: batches of integers in order of time, at an even rate.

    A shorter stream ends earlier in the day.
    """
    rng = np.random.default_rng(workload.seed)
    heap = np.cumsum(1 / np.arange(1, workload.items + 1))
    size, done = workload.observations, 0
    while done < size:
        some = min(workload.batch, size - done)
        time = _DAY / _PER_DAY * (done + np.sort(rng.uniform(0, some, some)))
        user = rng.integers(0, workload.users, some)
        site = np.searchsorted(heap, rng.uniform(0, heap[-1], some))
        yield pa.record_batch({"t": time, "user": user, "site": site})
        done += some


def write_visits(batches: Sequence[pa.RecordBatch], path: Path, workload: Workload) -> None:
    """Write them as Parquet, with names instead of numbers."""
    users = pa.array([f"user-{number}" for number in range(workload.users)])
    sites = pa.array([f"site-{number}.example" for number in range(workload.items)])
    schema = pa.schema({"t": pa.float64(), "user": pa.string(), "site": pa.string()})
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for batch in batches:
            named = [batch.column("t"), users.take(batch.column("user")), sites.take(batch.column("site"))]
            writer.write_batch(pa.record_batch(named, schema=schema))


def write_filter(home: Path) -> Path:
    """Write a policy of z-anonymity for visits, with its secret, into a folder."""
    (home / "secret.txt").write_text("a secret of the benchmark\n")
    policy = home / "policy.yaml"
    policy.write_text(yaml.safe_dump(_FILTER), encoding="utf-8")
    return policy
