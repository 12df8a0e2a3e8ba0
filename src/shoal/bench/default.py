"""A policy that names neither an algorithm nor a reading of nulls: against fads, by window and k, one record per call."""

from __future__ import annotations

import gc
from dataclasses import replace
from functools import partial
from time import process_time

from shoal import Anonymizer, run
from shoal.bench.benchmark import Benchmark, Figures, anonymize, passes
from shoal.bench.data import write_stream
from shoal.bench.table import NOTHING, Table, percent, rate, times, whole
from shoal.bench.timing import Task
from shoal.bench.workload import variants

QUICK, THOROUGH, OTHER = "tide quick", "tide thorough", "fads"
_KS = 200  # the largest k of the grid
_RECORDS = 4  # windows of records that are pushed one by one


def measure(bench: Benchmark) -> Figures:
    w = bench.workload
    default = replace(w, nulls_match="blurred")
    known = {variant.label: variant for variant in variants([OTHER, "tide"])}
    stream = bench.stream(w.growth)
    source, target = bench.home / "stream.parquet", bench.home / "published.parquet"
    write_stream(stream, source)
    written = bench.adult.write_policy(known[QUICK], default, bench.home)
    policies = {
        f"{OTHER}, maybe": bench.policy(known[OTHER]), f"{QUICK}, blurred": bench.policy(known[QUICK], default),
        f"{THOROUGH}, blurred": bench.policy(known[THOROUGH], default),
    }  # fmt: skip

    def from_file_to_file() -> None:
        target.unlink(missing_ok=True)
        run(written, source, target)

    tasks = [Task(label, partial(anonymize, policy, stream), w.growth, passes(w.growth)) for label, policy in policies.items()]
    tasks.append(Task(f"{QUICK}, blurred, Parquet to Parquet", from_file_to_file, w.growth))
    rows = [
        {"what": task.label, "timing": timed.timing, "loss": getattr(timed.result, "loss", None)}
        for task, timed in zip(tasks, bench.timed(tasks), strict=True)
    ]
    cells = [(window, k) for window in w.windows for k in w.ks if k <= min(window, _KS)]
    tasks = []
    for window, k in cells:
        policy = bench.policy(known[QUICK], replace(default, window=window, k=k))
        tasks.append(Task(f"window {window:,}, k {k}", partial(anonymize, policy, stream), w.growth))
    grid = [
        {"window": window, "k": k, "timing": timed.timing, "loss": timed.result.loss}
        for (window, k), timed in zip(cells, bench.timed(tasks), strict=True)
    ]
    return {"rows": rows, "grid": grid, "window": w.window, "k": w.k, "calls": _calls(bench, policies[f"{QUICK}, blurred"])}


def _calls(bench: Benchmark, policy: object) -> dict[str, list[float]]:
    """Seconds of processor time of single calls: while no wave is closed, while one is, and when it leaves, without the records
    that leave then."""
    w = bench.workload
    records = [record for batch in bench.stream(_RECORDS * w.window) for record in batch.to_pylist()]
    anonymizer = Anonymizer(policy)  # type: ignore[arg-type]
    seconds: dict[str, list[float]] = {"idle": [], "closed": [], "leaving": []}
    gc.collect()
    gc.disable()
    try:
        for record in records:
            start = process_time()
            published = anonymizer.push_record(record)
            taken = process_time() - start
            held = anonymizer.sizes["held"]
            closed = held >= w.window - w.window // 32
            seconds["leaving" if published.num_rows else "closed" if closed else "idle"].append(taken)
    finally:
        gc.enable()
    return seconds


def tables(result: Figures) -> list[Table]:
    first = result["rows"][0]["timing"]["ns"]
    rows = [
        (row["what"], rate(row["timing"]["rate"]), whole(row["timing"]["ns"]), percent(row["timing"]["spread"]),
         times(row["timing"]["ns"] / first), NOTHING if row["loss"] is None else f"{row['loss']:.3f}")
        for row in result["rows"]
    ]  # fmt: skip
    header = ("", "tuples/s", "ns per tuple", "spread", f"against {OTHER}", "loss")
    found = [Table("The default algorithm and reading of nulls", header, rows)]
    windows, ks = (sorted({cell[name] for cell in result["grid"]}) for name in ("window", "k"))
    costs = {(cell["window"], cell["k"]): cell["timing"]["ns"] for cell in result["grid"]}
    base = costs.get((result["window"], result["k"]), next(iter(costs.values())))
    cells = {cell: f"{whole(cost)} ({cost / base:.1f})" for cell, cost in costs.items()}
    lines: list[tuple[str, ...]] = [(f"{window:,}", *(cells.get((window, k), NOTHING) for k in ks)) for window in windows]
    note = f"In brackets: against window {result['window']:,}, k {result['k']}."
    found.append(
        Table(f"ns per tuple of {QUICK}, blurred, by window and k", ("window", *(f"k {k}" for k in ks)), lines, [note])
    )
    lines = []
    for name, taken in result["calls"].items():
        ordered = sorted(taken)
        if ordered:
            points = (ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100], ordered[-1])
            lines.append((name, f"{len(ordered):,}", *(f"{1000 * each:.2f}" for each in points)))
    note = "Processor time without the collection of garbage. Leaving: without the time to make Python dictionaries."
    found.append(Table("One record per call, ms", ("while", "calls", "median", "99 of 100", "most"), lines, [note]))
    return found
