"""z-anonymity: integers in memory, strings from Parquet, beside the package `zanon`; and the memory of a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import chdir
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import shoal
from shoal import Anonymizer, Policy
from shoal.anonymizer.filter import Filter
from shoal.bench.process import alone
from shoal.bench.session import Session
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import NOTHING, Table, count, megabytes, percent, rate, times, whole
from shoal.bench.visits import WINDOW, Z, visits, write, write_filter
from shoal.columns.fingerprint import keys_of
from shoal.formats import open_reader

PEER = "zanon"
_PART = 4  # the whole stream against this part of it


class Row(TypedDict):
    label: str
    timing: Timing
    ratio: float | None  # how many times as fast as the peer


class Filtered(TypedDict):
    rows: list[Row]
    released: float  # the part of the observations
    peer: str | None  # its version
    peaks: dict[str, int | None]  # bytes resident at most in `shoal run`, by observations


def measure(session: Session) -> Filtered:
    with TemporaryDirectory(prefix="shoal-bench-") as home:
        return _measure(session, Path(home))


def _measure(session: Session, home: Path) -> Filtered:
    s = session.settings
    policy = Policy.load(write_filter(home))
    session.step("making visits", 0, 2)
    batches = list(visits(s))
    session.step("writing them", 1, 2)
    parts = {count(size): size for size in (s.observations // _PART, s.observations)}
    for label, size in parts.items():
        write(batches[: -(-size // s.batch)], home / f"{label}.parquet", s)
    source = home / f"{count(s.observations)}.parquet"
    keys = [_keys(batch) for batch in batches]
    _decisions(policy, keys[:1])
    _in_memory(policy, batches[:1])
    _from_parquet(policy, home / f"{count(s.observations // _PART)}.parquet")
    jobs = [
        Job("integers in memory", partial(_in_memory, policy, batches), s.observations),
        Job("decisions alone, keys in memory", partial(_decisions, policy, keys), s.observations),
        Job("strings from Parquet", partial(_from_parquet, policy, source), s.observations),
        Job("Parquet to Parquet", partial(shoal.run, policy, source, home / "out.parquet"), s.observations),
    ]
    peer = _version()
    if peer:
        few = [row for batch in batches[:2] for row in zip(*batch.to_pydict().values(), strict=True)][: s.peer]
        texts = [(str(time), str(user), str(site)) for time, user, site in few]
        jobs.append(Job(f"{PEER} {peer} from PyPI", partial(_peer, texts, home), len(texts)))
    timed = interleaved(jobs, s.rounds, session.step)
    slow = timed[-1].timing["ns"] if peer else None
    rows: list[Row] = [
        {"label": job.label, "timing": each.timing, "ratio": slow / each.timing["ns"] if slow else None}
        for job, each in zip(jobs, timed, strict=True)
    ]
    peaks: dict[str, int | None] = {}
    for i, label in enumerate(parts):
        session.step(f"memory of shoal run, {label}", i, len(parts))
        found = alone("run", home / "policy.yaml", home / f"{label}.parquet", home / "out.parquet")
        peaks[label] = found and found.peak
    return {"rows": rows, "released": timed[0].result / s.observations, "peer": peer, "peaks": peaks}


def tables(result: Filtered) -> list[Table]:
    header = ("z-anonymity", "observations", "observations/s", "ns each", "spread", f"against {PEER}")
    rows = [
        (
            row["label"], count(row["timing"]["tuples"]), rate(row["timing"]["rate"]), whole(row["timing"]["ns"]),
            percent(row["timing"]["spread"]), times(row["ratio"]),
        )
        for row in result["rows"]
    ]  # fmt: skip
    peaks = " and ".join(
        f"{NOTHING if peak is None else megabytes(peak)} for {label}" for label, peak in result["peaks"].items()
    )
    notes = [
        f"z {Z}, a window of an hour, ten million observations a day; {percent(result['released'])} are released.",
        "Decisions alone count and say what may leave; nothing is published, and no pseudonym made.",
        f"Peak of resident memory of a `shoal run` from Parquet to Parquet: {peaks}.",
    ]
    if result["peer"] is None:
        notes.append(f"The package {PEER} is not installed: `pip install {PEER}` shows it beside.")
    busy = min(row["timing"]["busy"] for row in result["rows"])
    if busy < 0.95:
        notes.append(f"Other work took up to {percent(1 - busy)} of the core: repeat this on an idle machine.")
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
    """Who may leave, without pseudonyms and without columns that are published."""
    engine = Filter(policy)
    return sum(len(engine.decide(*each).leaving) for each in keys)


def _from_parquet(policy: Policy, source: Path) -> int:
    anonymizer = Anonymizer(policy)
    with open_reader(str(source), ("t", "user", "site")) as reader:
        for block in reader:
            anonymizer.push_batch(block.batch, block.rows)
    return anonymizer.stats.released


def _version() -> str | None:
    try:
        return version(PEER)
    except PackageNotFoundError:
        return None


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
