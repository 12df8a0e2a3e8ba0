"""From file to file, format by format; the memory of `shoal run`, and the time it takes to start."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypedDict

import yaml  # type: ignore[import-untyped, unused-ignore]

import shoal
from shoal.bench import launcher
from shoal.bench.adult import plain
from shoal.bench.session import Session
from shoal.bench.stopwatch import Job, Timing, interleaved, timing
from shoal.bench.table import NOTHING, Table, count, megabytes, percent, rate, whole
from shoal.errors import ShoalError
from shoal.formats import open_writer

FORMATS = ("parquet", "csv", "jsonl", "arrow")
_TINY = 10


class Row(TypedDict):
    format: str
    timing: Timing
    read: int  # bytes
    written: int
    peak_small: int | None  # bytes resident at most in `shoal run`
    peak_large: int | None


class Files(TypedDict):
    algorithm: str
    small: int
    rows: list[Row]
    start: Timing | None  # a cached `shoal run` on a tiny file


class Process(NamedTuple):
    seconds: float
    peak: int


def measure(session: Session) -> Files:
    with TemporaryDirectory(prefix="shoal-bench-") as home:
        return _measure(session, Path(home))


def _measure(session: Session, home: Path) -> Files:
    s = session.settings
    policy = session.policy(session.subject)
    sizes = {"tiny": _TINY, "small": s.small, "large": s.large}
    for i, (name, tuples) in enumerate(sizes.items()):
        session.step(f"writing {count(tuples)} tuples in every format", i, len(sizes))
        _write(session, home, name, tuples)
    jobs = [
        Job(f"{kind}, {count(s.large)} tuples", partial(shoal.run, policy, *_paths(home, "large", kind)), s.large)
        for kind in FORMATS
    ]
    timed = interleaved(jobs, s.rounds, session.step)
    _write_policy(session, home)
    rows: list[Row] = []
    for i, (kind, each) in enumerate(zip(FORMATS, timed, strict=True)):
        source, target = _paths(home, "large", kind)
        session.step(f"memory of shoal run, {kind}", i, len(FORMATS))
        small, large = (process(home, *_paths(home, size, kind)) for size in ("small", "large"))
        rows.append({
            "format": kind, "timing": each.timing,
            "read": source.stat().st_size, "written": target.stat().st_size,
            "peak_small": small and small.peak, "peak_large": large and large.peak,
        })  # fmt: skip
    starts = []
    for i in range(s.rounds):
        session.step("start of shoal run", i, s.rounds)
        if found := process(home, *_paths(home, "tiny", "csv")):
            starts.append(found.seconds)
    start = timing(starts, _TINY) if starts else None
    return {"algorithm": session.subject.label, "small": s.small, "rows": rows, "start": start}


def tables(result: Files) -> list[Table]:
    large, small = count(result["rows"][0]["timing"]["tuples"]), count(result["small"])
    header = ("format", "tuples/s", "ns a tuple", "spread", "read", "written", f"peak of {small}", f"peak of {large}")
    rows = [
        (
            row["format"], rate(row["timing"]["rate"]), whole(row["timing"]["ns"]), percent(row["timing"]["spread"]),
            megabytes(row["read"]), megabytes(row["written"]), _peak(row["peak_small"]), _peak(row["peak_large"]),
        )
        for row in result["rows"]
    ]  # fmt: skip
    start = result["start"]
    notes = [
        "Peak is the most memory that a `shoal run` of its own had resident.",
        f"A cached `shoal run` on {_TINY} tuples takes {start['median']:.2f} s from start to end." if start else
        "This system cannot tell the peak and the start of a process.",
    ]  # fmt: skip
    return [Table(f"File to file, {result['algorithm']}, {large} tuples", header, rows, [" ".join(notes)])]


def _peak(size: int | None) -> str:
    return NOTHING if size is None else megabytes(size)


def _paths(home: Path, size: str, kind: str) -> tuple[Path, Path]:
    return home / f"{size}.{kind}", home / f"{size}-anonymized.{kind}"


def _write(session: Session, home: Path, name: str, tuples: int) -> None:
    stream = session.stream(tuples)
    for kind in FORMATS:
        with open_writer(str(_paths(home, name, kind)[0])) as writer:
            for batch in stream:
                writer.write(plain(batch))


def _write_policy(session: Session, home: Path) -> None:
    written = session.adult.written(session.subject, session.settings)
    (home / "policy.yaml").write_text(yaml.safe_dump(written, sort_keys=False), encoding="utf-8")
    shutil.copytree(session.adult.folder / "hierarchies", home / "hierarchies", copy_function=shutil.copyfile)


def process(home: Path, source: Path, target: Path) -> Process | None:
    """`shoal run` in a process of its own; nothing where the system has no such measure."""
    if not hasattr(os, "wait4") or not hasattr(os, "posix_spawn"):
        return None
    path = [str(Path(shoal.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "shoal.cli", "run", str(home / "policy.yaml"), str(source), str(target)]
    done = subprocess.run(
        [sys.executable, "-IS", str(launcher.__file__), *run], capture_output=True, text=True, env=environment
    )
    told = json.loads(done.stdout)
    if told["status"]:
        raise ShoalError(f"shoal run ended with status {told['status']} on {source.name}: {done.stderr.strip()}")
    return Process(told["seconds"], told["peak"])
