"""What it takes to judge an output, with a trace and without, and the memory of `shoal audit`."""

from __future__ import annotations

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
from shoal.formats import open_writer


class Row(TypedDict):
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
    s = session.settings
    write_policy(session, home)
    sizes = {"small": s.small, "large": s.audited}
    for i, (name, tuples) in enumerate(sizes.items()):
        session.step(f"anonymizing {count(tuples)} tuples", i, len(sizes))
        source, target, trace = _paths(home, name)
        with open_writer(str(source)) as writer:
            for batch in session.stream(tuples):
                writer.write(plain(batch))
        shoal.run(home / "policy.yaml", source, target, trace=trace)
    source, target, trace = _paths(home, "large")
    jobs = [
        Job(f"audit {word} a trace", partial(audit, home / "policy.yaml", source, target, told), s.audited)
        for word, told in (("with", trace), ("without", None))
    ]
    timed = interleaved(jobs, s.rounds, session.step)
    rows: list[Row] = [
        {"trace": traced, "timing": each.timing, "held": each.result.held}
        for traced, each in zip((True, False), timed, strict=True)
    ]
    session.step("memory of shoal audit", 0, 1)
    small, large = (_alone(home, name) for name in sizes)
    return {
        "algorithm": session.subject.label, "small": s.small, "rows": rows,
        "peak_small": small and small.peak, "peak_large": large and large.peak,
    }  # fmt: skip


def tables(result: Audit) -> list[Table]:
    tuples = result["rows"][0]["timing"]["tuples"]
    header = ("audit", "seconds", "tuples/s", "ns a tuple", "spread", "verdict")
    rows = [
        (
            "with a trace" if row["trace"] else "without", f"{row['timing']['median']:.2f}", rate(row["timing"]["rate"]),
            whole(row["timing"]["ns"]), percent(row["timing"]["spread"]), "held" if row["held"] else "broken",
        )
        for row in result["rows"]
    ]  # fmt: skip
    small, large = result["peak_small"], result["peak_large"]
    note = (
        f"Parquet, the trace in JSON lines. `shoal audit` with a trace has {_peak(small)} resident at most for "
        f"{count(result['small'])} tuples and {_peak(large)} for {count(tuples)}"
    )
    if small is not None and large is not None and tuples > result["small"]:
        note += f": {(large - small) / (tuples - result['small']):,.0f} bytes for each tuple more"
    return [Table(f"Audit of the output of {result['algorithm']}, {count(tuples)} tuples", header, rows, [f"{note}."])]


def _peak(size: int | None) -> str:
    return NOTHING if size is None else megabytes(size)


def _paths(home: Path, size: str) -> tuple[Path, Path, Path]:
    return home / f"{size}.parquet", home / f"{size}-anonymized.parquet", home / f"{size}-trace.jsonl"


def _alone(home: Path, size: str) -> Process | None:
    source, target, trace = _paths(home, size)
    return alone("audit", home / "policy.yaml", source, target, "--trace", trace)
