"""From file to file, format by format, and the audit of such files; the memory of `shoal run` and `shoal audit`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import shoal
from shoal.audit import audit
from shoal.bench.benchmark import Benchmark, Figures
from shoal.bench.data import visits, write_filter, write_stream, write_visits
from shoal.bench.table import Table, count, megabytes, speed
from shoal.bench.timing import Task, run_alone, timing

FORMATS = ("parquet", "csv", "jsonl", "arrow")
_TINY = 10


def measure_files(bench: Benchmark) -> Figures:
    """`shoal.run` with one algorithm; peak memory of `shoal run` on both sizes; the time that it takes to start."""
    w, home = bench.workload, bench.home
    policy = bench.policy(bench.first)
    sizes = {"tiny": _TINY, "small": w.small, "large": w.large}
    for i, (name, tuples) in enumerate(sizes.items()):
        bench.step(f"writing {count(tuples)} tuples in every format", i, len(sizes))
        for kind in FORMATS:
            write_stream(bench.stream(tuples), _paths(home, name, kind)[0])
    tasks = []
    for kind in FORMATS:
        source, target = _paths(home, "large", kind)
        work, remove = partial(shoal.run, policy, source, target), partial(target.unlink, missing_ok=True)
        tasks.append(Task(f"{kind}, {count(w.large)} tuples", work, w.large, prepare=remove))
    timed = bench.timed(tasks)
    written = bench.adult.write_policy(bench.first, w, home)
    rows = []
    for i, (kind, each) in enumerate(zip(FORMATS, timed, strict=True)):
        source, target = _paths(home, "large", kind)
        bench.step(f"memory of shoal run, {kind}", i, len(FORMATS))
        small, large = (run_alone("run", written, *_paths(home, size, kind)) for size in ("small", "large"))
        rows.append({
            "format": kind, "timing": each.timing,
            "read": source.stat().st_size, "written": target.stat().st_size,
            "peak_small": small and small.peak, "peak_large": large and large.peak,  # bytes resident at most in `shoal run`
        })  # fmt: skip
    starts = []
    for i in range(w.rounds):
        bench.step("start of shoal run", i, w.rounds)
        if usage := run_alone("run", written, *_paths(home, "tiny", "csv")):
            starts.append(usage.seconds)
    start = timing(starts, _TINY) if starts else None
    return {"algorithm": bench.first.label, "small": w.small, "rows": rows, "start": start}


def _paths(home: Path, size: str, kind: str) -> tuple[Path, Path]:
    return home / f"{size}.{kind}", home / f"{size}-anonymized.{kind}"


def file_tables(result: Figures) -> list[Table]:
    large, small = count(result["rows"][0]["timing"]["tuples"]), count(result["small"])
    header = ("format", "tuples/s", "ns per tuple", "spread", "read", "written", f"peak of {small}", f"peak of {large}")
    rows = [
        (
            row["format"], *speed(row["timing"]), megabytes(row["read"]), megabytes(row["written"]),
            megabytes(row["peak_small"]), megabytes(row["peak_large"]),
        )
        for row in result["rows"]
    ]  # fmt: skip
    start = result["start"]
    notes = [
        "Peak: the largest resident memory of a separate `shoal run`.",
        f"A cached `shoal run` on {_TINY} tuples takes {start['median']:.2f} s from start to end." if start else
        "This system cannot tell the peak and the start of a process.",
    ]  # fmt: skip
    return [Table(f"File to file, {result['algorithm']}, {large} tuples", header, rows, [" ".join(notes)])]


def measure_audit(bench: Benchmark) -> Figures:
    """The audit of tuples and of observations, with a trace and without; peak memory of `shoal audit`."""
    w, home, visited = bench.workload, bench.home, bench.home / "visits"
    visited.mkdir()
    policies = {"tuples": bench.adult.write_policy(bench.first, w, home), "observations": write_filter(visited)}
    sizes = {"small": w.small, "large": w.audited}
    for i, (name, tuples) in enumerate(sizes.items()):
        bench.step(f"anonymizing {count(tuples)} tuples", i, len(sizes))
        source, target, trace = _audited(home, name)
        write_stream(bench.stream(tuples), source)
        shoal.run(policies["tuples"], source, target, trace=trace)
    bench.step(f"anonymizing {count(w.audited)} observations", 1, len(sizes))
    source, target, trace = _audited(visited, "large")
    write_visits(list(visits(replace(w, observations=w.audited))), source, w)
    shoal.run(policies["observations"], source, target, trace=trace)
    cases = [(kind, policy, traced) for kind, policy in policies.items() for traced in (True, False)]
    tasks = []
    for kind, policy, traced in cases:
        source, target, trace = _audited(policy.parent, "large")
        label = f"audit of {kind} {'with' if traced else 'without'} a trace"
        tasks.append(Task(label, partial(audit, policy, source, target, trace if traced else None), w.audited))
    rows = [
        {"kind": kind, "trace": traced, "timing": each.timing, "held": each.result.held}
        for (kind, _, traced), each in zip(cases, bench.timed(tasks), strict=True)
    ]
    bench.step("memory of shoal audit", 0, 1)
    peaks = []
    for size in sizes:
        source, target, trace = _audited(home, size)
        usage = run_alone("audit", policies["tuples"], source, target, "--trace", trace)
        peaks.append(usage and usage.peak)
    return {"algorithm": bench.first.label, "small": w.small, "rows": rows, "peak_small": peaks[0], "peak_large": peaks[1]}


def _audited(home: Path, size: str) -> tuple[Path, Path, Path]:
    return *_paths(home, size, "parquet"), home / f"{size}-trace.jsonl"


def audit_tables(result: Figures) -> list[Table]:
    tuples = result["rows"][0]["timing"]["tuples"]
    header = ("audit", "seconds", "records/s", "ns per record", "spread", "verdict")
    rows = [
        (
            f"{row['kind']}, {'with a trace' if row['trace'] else 'without'}", f"{row['timing']['median']:.2f}",
            *speed(row["timing"]), "held" if row["held"] else "broken",
        )
        for row in result["rows"]
    ]  # fmt: skip
    small, large = result["peak_small"], result["peak_large"]
    note = (
        f"Parquet, the trace in JSON lines; observations are those of z-anonymity. `shoal audit` with a trace has "
        f"{megabytes(small)} resident at most for {count(result['small'])} tuples and {megabytes(large)} for {count(tuples)}"
    )
    if small is not None and large is not None and tuples > result["small"]:
        note += f": {(large - small) / (tuples - result['small']):,.0f} bytes for each tuple more"
    title = f"Audit of the output of {result['algorithm']}, and of zanon, {count(tuples)} records"
    return [Table(title, header, rows, [f"{note}."])]
