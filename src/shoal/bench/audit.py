"""What it takes to judge tuples and observations that were published, with a trace and without; the memory of `shoal audit`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypedDict

import shoal
from shoal.audit import audit
from shoal.bench.adult import plain
from shoal.bench.files import write_policy
from shoal.bench.process import Process, alone
from shoal.bench.session import Session
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import NOTHING, Table, count, megabytes, percent, rate, whole
from shoal.bench.visits import visits, write, write_filter
from shoal.formats import open_writer

TUPLES, OBSERVATIONS = "tuples", "observations"


class Row(TypedDict):
    kind: str  # of records: tuples or observations
    trace: bool
    timing: Timing
    held: bool


class Audit(TypedDict):
    algorithm: str
    small: int
    rows: list[Row]
    peak_small: int | None  # bytes resident at most in `shoal audit`, with a trace
    peak_large: int | None


def measure(session: Session) -> Audit:
    with TemporaryDirectory(prefix="shoal-bench-") as home:
        return _measure(session, Path(home))


def _measure(session: Session, home: Path) -> Audit:
    s, visited = session.settings, home / "visits"
    write_policy(session, home)
    sizes = {"small": s.small, "large": s.audited}
    for i, (name, tuples) in enumerate(sizes.items()):
        session.step(f"anonymizing {count(tuples)} tuples", i, len(sizes))
        source, target, trace = _paths(home, name)
        with open_writer(str(source)) as writer:
            for batch in session.stream(tuples):
                writer.write(plain(batch))
        shoal.run(home / "policy.yaml", source, target, trace=trace)
    session.step(f"anonymizing {count(s.audited)} observations", 1, len(sizes))
    visited.mkdir()
    policy = write_filter(visited)
    write(list(visits(replace(s, observations=s.audited))), _paths(visited, "large")[0], s)
    shoal.run(policy, *_paths(visited, "large")[:2], trace=_paths(visited, "large")[2])
    kinds = [(kind, folder, traced) for kind, folder in ((TUPLES, home), (OBSERVATIONS, visited)) for traced in (True, False)]
    jobs = []
    for kind, folder, traced in kinds:
        source, target, trace = _paths(folder, "large")
        label = f"audit of {kind} {'with' if traced else 'without'} a trace"
        jobs.append(Job(label, partial(audit, folder / "policy.yaml", source, target, trace if traced else None), s.audited))
    timed = interleaved(jobs, s.rounds, session.step)
    rows: list[Row] = [
        {"kind": kind, "trace": traced, "timing": each.timing, "held": each.result.held}
        for (kind, _, traced), each in zip(kinds, timed, strict=True)
    ]
    session.step("memory of shoal audit", 0, 1)
    small, large = (_alone(home, name) for name in sizes)
    return {
        "algorithm": session.subject.label, "small": s.small, "rows": rows,
        "peak_small": small and small.peak, "peak_large": large and large.peak,
    }  # fmt: skip


def tables(result: Audit) -> list[Table]:
    tuples = result["rows"][0]["timing"]["tuples"]
    header = ("audit", "seconds", "records/s", "ns a record", "spread", "verdict")
    rows = [
        (
            f"{row['kind']}, {'with a trace' if row['trace'] else 'without'}", f"{row['timing']['median']:.2f}",
            rate(row["timing"]["rate"]),
            whole(row["timing"]["ns"]), percent(row["timing"]["spread"]), "held" if row["held"] else "broken",
        )
        for row in result["rows"]
    ]  # fmt: skip
    small, large = result["peak_small"], result["peak_large"]
    note = (
        f"Parquet, the trace in JSON lines; observations are those of z-anonymity. `shoal audit` with a trace has "
        f"{_peak(small)} resident at most for "
        f"{count(result['small'])} tuples and {_peak(large)} for {count(tuples)}"
    )
    if small is not None and large is not None and tuples > result["small"]:
        note += f": {(large - small) / (tuples - result['small']):,.0f} bytes for each tuple more"
    title = f"Audit of the output of {result['algorithm']}, and of zanon, {count(tuples)} records"
    return [Table(title, header, rows, [f"{note}."])]


def _peak(size: int | None) -> str:
    return NOTHING if size is None else megabytes(size)


def _paths(home: Path, size: str) -> tuple[Path, Path, Path]:
    return home / f"{size}.parquet", home / f"{size}-anonymized.parquet", home / f"{size}-trace.jsonl"


def _alone(home: Path, size: str) -> Process | None:
    source, target, trace = _paths(home, size)
    return alone("audit", home / "policy.yaml", source, target, "--trace", trace)
