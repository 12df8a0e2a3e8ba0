"""z-anonymity: integers in memory, strings from Parquet, beside the package `zanon`; and the memory of a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from functools import partial
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import shoal
from shoal import Anonymizer, Policy
from shoal.anonymizer import Filter
from shoal.bench.benchmark import Benchmark, Figures
from shoal.bench.data import WINDOW, Z, visits, write_filter, write_visits
from shoal.bench.machine import version_of
from shoal.bench.table import Table, count, megabytes, other_work, percent, speed, times
from shoal.bench.timing import Task, run_alone
from shoal.columns import keys_of
from shoal.formats import open_reader

PEER = "zanon"
_PART = 4  # the whole stream against this part of it


def measure(bench: Benchmark) -> Figures:
    w, home = bench.workload, bench.home
    policy = Policy.load(write_filter(home))
    bench.step("making visits", 0, 2)
    batches = list(visits(w))
    bench.step("writing them", 1, 2)
    parts = {count(size): size for size in (w.observations // _PART, w.observations)}
    for label, size in parts.items():
        write_visits(batches[: -(-size // w.batch)], home / f"{label}.parquet", w)
    source = home / f"{count(w.observations)}.parquet"
    keys = [_keys(batch) for batch in batches]
    _decisions(policy, keys[:1])
    _in_memory(policy, batches[:1])
    _from_parquet(policy, home / f"{count(w.observations // _PART)}.parquet")
    tasks = [
        Task("integers in memory", partial(_in_memory, policy, batches), w.observations),
        Task("decisions alone, keys in memory", partial(_decisions, policy, keys), w.observations),
        Task("strings from Parquet", partial(_from_parquet, policy, source), w.observations),
        Task("Parquet to Parquet", partial(shoal.run, policy, source, home / "out.parquet"), w.observations),
    ]
    peer = version_of(PEER)
    if peer:
        few = [row for batch in batches[:2] for row in zip(*batch.to_pydict().values(), strict=True)][: w.peer]
        texts = [(str(time), str(user), str(site)) for time, user, site in few]
        tasks.append(Task(f"{PEER} {peer} from PyPI", partial(_peer, texts, home), len(texts)))
    timed = bench.timed(tasks)
    slow = timed[-1].timing["ns"] if peer else None
    rows = [
        {"label": task.label, "timing": each.timing, "ratio": slow / each.timing["ns"] if slow else None}
        for task, each in zip(tasks, timed, strict=True)
    ]
    peaks: dict[str, int | None] = {}
    for i, label in enumerate(parts):
        bench.step(f"memory of shoal run, {label}", i, len(parts))
        usage = run_alone("run", home / "policy.yaml", home / f"{label}.parquet", home / "out.parquet")
        peaks[label] = usage and usage.peak
    return {
        "rows": rows,
        "released": timed[0].result / w.observations,
        "peer": peer,  # its version
        "peaks": peaks,  # bytes resident at most in `shoal run`, by observations
    }


def tables(result: Figures) -> list[Table]:
    header = ("z-anonymity", "observations", "observations/s", "ns each", "spread", f"against {PEER}")
    rows = [
        (row["label"], count(row["timing"]["tuples"]), *speed(row["timing"]), times(row["ratio"])) for row in result["rows"]
    ]
    peaks = " and ".join(f"{megabytes(peak)} for {label}" for label, peak in result["peaks"].items())
    notes = [
        f"z {Z}, a window of an hour, ten million observations a day; {percent(result['released'])} are released.",
        "Decisions alone count and say what may leave; nothing is published, and no pseudonym made.",
        f"Peak of resident memory of a `shoal run` from Parquet to Parquet: {peaks}.",
    ]
    if result["peer"] is None:
        notes.append(f"The package {PEER} is not installed: `pip install {PEER}` shows it beside.")
    notes += other_work(row["timing"] for row in result["rows"])
    return [Table("z-anonymity, Arrow in to Arrow out", header, rows, [" ".join(notes)])]


def _in_memory(policy: Policy, batches: list[pa.RecordBatch]) -> int:
    anonymizer = Anonymizer(policy)
    for batch in batches:
        anonymizer.push_batch(batch)
    return anonymizer.stats.released


def _keys(batch: pa.RecordBatch) -> tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.uint64]]:
    unused = np.zeros(2, np.uint64)  # a secret for texts, and here are only numbers
    user, site = (keys_of(batch.column(name), (), unused).keys for name in ("user", "site"))
    return batch.column("t").to_numpy().copy(), user, site


def _decisions(policy: Policy, keys: list[tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.uint64]]]) -> int:
    """Which observations may leave, without pseudonyms and without columns that are published."""
    engine = Filter(policy)
    return sum(len(engine.decide(*each).leaving) for each in keys)


def _from_parquet(policy: Policy, source: Path) -> int:
    anonymizer = Anonymizer(policy)
    with open_reader(str(source), ("t", "user", "site")) as reader:
        for block in reader:
            anonymizer.push_batch(block.batch, block.rows)
    return anonymizer.stats.released


def _peer(observations: list[tuple[str, str, str]], home: Path) -> None:
    """The package with a fixed z; it writes files into the folder where it runs."""
    made: Callable[..., object] = import_module("zanonymity.zanon").zanon
    with chdir(home):
        peer = made(WINDOW, 0.95, 2)
        vars(peer).update(z=Z, rate=float("inf"))
        anonymize = peer.anonymize  # type: ignore[attr-defined]
        for each in observations:
            anonymize(each)
        peer.endFiles()  # type: ignore[attr-defined]
