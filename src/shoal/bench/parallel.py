"""Several cores: independent streams on threads; one stream in lanes, or with the workers of FAST."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from threading import Thread
from time import process_time, thread_time

import pyarrow as pa

from shoal import Anonymizer, Policy
from shoal.bench.benchmark import Benchmark, Figures, anonymize
from shoal.bench.machine import bound_to
from shoal.bench.table import Table, count, rate, times
from shoal.bench.timing import Task, Timing
from shoal.bench.workload import Variant

LANES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
WORKERS = (1, 2, 4, 6)


def measure_threads(bench: Benchmark) -> Figures:
    """Two independent streams on two threads, against one."""
    tuples = bench.workload.threads
    stream = bench.stream(tuples)
    tasks = []
    for variant in bench.variants:
        policy = bench.policy(variant)
        for streams in (1, 2):
            work = partial(_together, policy, stream, streams)
            tasks.append(Task(f"{variant.label}, streams: {streams}", work, streams * tuples))
    with bound_to(bench.cores):
        timed = bench.timed(tasks)
    rows = [
        _pair(variant.label, one.timing, two.timing)
        for variant, one, two in zip(bench.variants, timed[::2], timed[1::2], strict=True)
    ]
    return {"rows": rows, "cores": len(bench.cores)}


def _together(policy: Policy, stream: Sequence[pa.RecordBatch], streams: int) -> None:
    threads = [Thread(target=anonymize, args=(policy, stream)) for _ in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _pair(label: str, one: Timing, two: Timing) -> Figures:
    return {"algorithm": label, "one": one, "two": two, "ratio": two["rate"] / one["rate"]}


def thread_tables(result: Figures) -> list[Table]:
    few = ["This machine gives one core: two threads take turns on it."] if result["cores"] < 2 else []
    note = " ".join([f"{count(result['rows'][0]['one']['tuples'])} tuples a stream.", *few])
    return [_pair_table("Independent streams on threads of one process", "stream", result["rows"], note)]


def _pair_table(title: str, unit: str, rows: Sequence[Figures], note: str) -> Table:
    header = ("algorithm", f"one {unit}, tuples/s", f"two {unit}s, tuples/s", "ratio", "cores had")
    lines = []
    for row in rows:
        one, two = row["one"], row["two"]
        had = f"{one['busy']:.2f} and {two['busy']:.2f}"
        lines.append((row["algorithm"], rate(one["rate"]), rate(two["rate"]), times(row["ratio"]), had))
    return Table(title, header, lines, [note])


def measure_lanes(bench: Benchmark) -> Figures:
    """One stream in lanes, or with workers: what that costs in loss, and what it gains in speed."""
    rows, workers = [], []
    for variant in bench.variants:
        policy = bench.policy(variant)
        rows.append(_lanes(bench, variant.label, "lanes", {lanes: replace(policy, lanes=lanes) for lanes in LANES}))
        if variant.name == "fast":
            each = {number: Variant("", "fast", {**variant.parameters, "workers": number}) for number in WORKERS}
            policies = {number: bench.policy(one) for number, one in each.items()}
            workers.append(_lanes(bench, variant.label, "workers", policies))
    return {"rows": rows, "workers": workers, "tuples": bench.workload.small, "cores": len(bench.cores)}


def _lanes(bench: Benchmark, label: str, unit: str, policies: Mapping[int, Policy]) -> Figures:
    w = bench.workload
    short, long = bench.stream(w.small), bench.stream(w.threads)
    found = {}
    with bound_to(bench.cores):
        for i, (number, policy) in enumerate(policies.items()):
            bench.step(f"{label}, {unit}: {number}", i, len(policies))
            found[str(number)] = anonymize(policy, short)
        alone = {number: _seconds(policy, long) for number, policy in policies.items()} if unit == "lanes" else {}
        tasks = [Task(f"{label}, {unit}: {number}", partial(anonymize, policies[number], long), w.threads) for number in (1, 2)]
        one, two = (timed.timing for timed in bench.timed(tasks))
    return {
        **_pair(label, one, two),
        "loss": {number: stats.loss for number, stats in found.items()},
        "suppressed": {number: stats.suppressed for number, stats in found.items()},
        "simulated": {str(number): alone[1] / seconds for number, seconds in alone.items()},  # the ratio, a core for each lane
    }


def _seconds(policy: Policy, batches: Sequence[pa.RecordBatch]) -> float:
    """Seconds of the processor if every lane had a core of its own: of what lanes do side by side, only the longest counts."""
    anonymizer = Anonymizer(policy)
    saved = 0.0

    def in_turn(work: Callable[[int], None], lanes: int, arrivals: int) -> None:
        nonlocal saved
        moments = [thread_time()]
        for number in range(lanes):
            work(number)
            moments.append(thread_time())
        spent = [after - before for before, after in pairwise(moments)]
        saved += sum(spent) - max(spent)

    if policy.lanes > 1:
        anonymizer._engine._lane.side_by_side = in_turn  # type: ignore[attr-defined]
    start = process_time()
    for batch in batches:
        anonymizer.push_batch(batch)
    anonymizer.flush()
    return process_time() - start - saved


def lane_tables(result: Figures) -> list[Table]:
    few = ["This machine gives one core: threads take turns on it."] if result["cores"] < 2 else []
    tables = []
    for unit, rows in (("lane", result["rows"]), ("worker", result["workers"])):
        if rows:
            numbers = list(rows[0]["loss"])[1:]
            timed = f"{count(rows[0]['one']['tuples'])} tuples."
            tables += [
                _loss_table(unit, rows, numbers, result["tuples"]),
                _pair_table(f"Two {unit}s on two cores", unit, rows, " ".join([timed, *few])),
            ]
            if unit == "lane":
                lines = [(row["algorithm"], *(times(row["simulated"][number]) for number in numbers)) for row in rows]
                note = "Tuples a second against one lane, as if each had a core of its own, by seconds of the processor. "
                tables.append(Table("Speed by lanes, by simulation", ("algorithm", *numbers), lines, [note + timed]))
    return tables


def _loss_table(unit: str, rows: Sequence[Figures], numbers: Sequence[str], tuples: int) -> Table:
    lines = []
    for row in rows:
        one = row["loss"]["1"]
        lines.append((row["algorithm"], f"{one:.4f}", *(f"{100 * (row['loss'][each] / one - 1):+.1f} %" for each in numbers)))
    header = ("algorithm", "loss of one", *numbers)
    return Table(f"Loss by {unit}s, {tuples:,} tuples", header, lines, [f"By how much it is more than with one {unit}."])
