"""Speed in memory: of each algorithm, beside its naive twin, and by window, k and number of quasi-identifiers."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Anonymizer, Policy
from shoal.bench.benchmark import Benchmark, Figures, anonymize, passes
from shoal.bench.data import plain
from shoal.bench.table import Table, count, other_work, percent, rate, times, whole
from shoal.bench.timing import Task, interleaved

AXES = {"window": "window", "k": "k", "quasi": "quasi-identifiers"}
_SLOW = {"castle": 10, "tide": 10}  # their twins take so much longer that they get this part of the tuples
_TWINS = "tests/naive"
BLURRED = "blurred"


def measure_speed(bench: Benchmark) -> Figures:
    """Each algorithm, Arrow in to Arrow out, on a short and on a long stream."""
    w = bench.workload
    small, large = bench.stream(w.small), bench.stream(w.large)
    strings = [plain(batch) for batch in small]
    tasks = []
    for variant in bench.variants:
        policy = bench.policy(variant)
        for stream, tuples in ((small, w.small), (large, w.large)):
            label = f"{variant.label}, {count(tuples)} tuples"
            tasks.append(Task(label, partial(anonymize, policy, stream), tuples, passes(tuples)))
        policy = bench.policy(variant, replace(w, nulls_match=BLURRED))
        tasks.append(Task(f"{variant.label}, {BLURRED}", partial(anonymize, policy, small), w.small, passes(w.small)))
    first = partial(anonymize, bench.policy(bench.first), strings)
    tasks.append(Task(f"{bench.first.label}, plain strings", first, w.small, passes(w.small)))
    *timed, last = bench.timed(tasks)
    twins = bench.results.get("twins") or measure_twins(bench)
    ratios = {row["algorithm"]: row["ratio"] for row in twins["rows"]}
    rows = []
    for variant, short, long, blurred in zip(bench.variants, timed[::3], timed[1::3], timed[2::3], strict=True):
        stats = long.result
        rows.append({
            "algorithm": variant.label, "small": short.timing, "large": long.timing, BLURRED: blurred.timing,
            "growth": long.timing["ns"] / short.timing["ns"],  # of the cost of a tuple, with the length of the stream
            "loss": stats.loss, f"{BLURRED}_loss": blurred.result.loss,
            "groups": stats.groups, "reused": stats.reused, "suppressed": stats.suppressed,
            "twin": ratios.get(variant.label),  # how many times as long the naive twin takes for a tuple
        })  # fmt: skip
    return {"rows": rows, "strings": last.timing, "absent": twins["absent"]}  # strings: the first algorithm on plain strings


def speed_tables(result: Figures) -> list[Table]:
    first = result["rows"][0]
    small, large = count(first["small"]["tuples"]), count(first["large"]["tuples"])
    header = (
        "algorithm", f"tuples/s of {small}", f"tuples/s of {large}", "ns per tuple", "spread", "growth",
        f"blurred, {small}", "of maybe", "loss", "twin",
    )  # fmt: skip
    rows = [
        (
            row["algorithm"], rate(row["small"]["rate"]), rate(row["large"]["rate"]), whole(row["large"]["ns"]),
            percent(row["large"]["spread"]), f"{row['growth']:.2f}", rate(row[BLURRED]["rate"]),
            percent(row[BLURRED]["rate"] / row["small"]["rate"]), f"{row['loss']:.3f}", times(row["twin"]),
        )
        for row in result["rows"]
    ]  # fmt: skip
    notes = [
        "All columns except blurred are under nulls_match: maybe, the papers' reading. Blurred is the default of a policy; "
        "of maybe: its tuples per second compared with the first column.",
        f"Labels come as dictionaries, as from Parquet. As plain strings {first['algorithm']} takes "
        f"{whole(result['strings']['ns'])} ns per tuple on {small}, against {whole(first['small']['ns'])}.",
        "Growth: the cost of a tuple of the long stream compared with one of the short stream.",
        result["absent"] or "Twin: the time of the naive twin for the same few tuples, compared with this.",
        *other_work(row["large"] for row in result["rows"]),
    ]
    return [Table("Speed in memory, Arrow in to Arrow out", header, rows, [" ".join(notes)])]


def measure_twins(bench: Benchmark) -> Figures:
    """Each algorithm and its naive twin on the same few tuples."""
    naive = _naive()
    if naive is None:
        return {"rows": [], "absent": f"The naive twins are only in a checkout: run this where {_TWINS} is to see them."}
    rows = []
    for i, variant in enumerate(bench.variants):
        bench.step(f"{variant.label} and its naive twin", i, len(bench.variants))
        tuples = max(1, bench.workload.twin // _SLOW.get(variant.name, 1))
        policy, stream = bench.policy(variant), bench.stream(tuples)
        columns = [[value for batch in stream for value in batch.column(name).to_pylist()] for name, _ in policy.quasi]
        events = [naive.Arrival(number, values) for number, values in enumerate(zip(*columns, strict=True))]
        length = ("count", policy.window.length)
        attributes = _attributes(naive, policy)
        slow = partial(naive.simulate, variant.name, attributes, policy.privacy.k, length, events, **variant.parameters)
        (twin,) = interleaved([Task("", slow, tuples)], 1)
        (engine,) = interleaved([Task("", partial(_traced, policy, stream), tuples)], bench.workload.rounds)
        released = [(each["row"], each["how"], each["cluster"]) for trace in engine.result for each in trace.to_pylist()]
        rows.append({
            "algorithm": variant.label, "engine": engine.timing, "twin": twin.timing,
            "ratio": twin.timing["ns"] / engine.timing["ns"],
            "same": [(each.row, each.how, each.cluster) for each in twin.result] == released,  # tuples, ways and order
        })  # fmt: skip
    return {"rows": rows, "absent": None}


def twin_tables(result: Figures) -> list[Table]:
    header = ("algorithm", "tuples", "twin, tuples/s", "engine, tuples/s", "ratio", "same outcome")
    rows = [
        (
            row["algorithm"], f"{row['twin']['tuples']:,}", rate(row["twin"]["rate"]), rate(row["engine"]["rate"]),
            times(row["ratio"]), "yes" if row["same"] else "NO",
        )
        for row in result["rows"]
    ]  # fmt: skip
    notes = [result["absent"] or "So short a stream also pays for the engine's start."]
    return [Table("The engine beside its naive twin in plain Python", header, rows, notes)]


def _naive() -> Any:
    if not Path(_TWINS, "__init__.py").is_file():
        return None
    sys.path.insert(0, str(Path.cwd()))
    try:
        return import_module(_TWINS.replace("/", "."))
    except ImportError:
        return None
    finally:
        sys.path.pop(0)


def _attributes(naive: Any, policy: Policy) -> list[Any]:
    return [
        naive.Categorical({line[0]: tuple(line) for line in attribute.hierarchy.lines()})
        if attribute.hierarchy
        else naive.Numeric(attribute.low, attribute.high)
        for _, attribute in policy.quasi
    ]


def _traced(policy: Policy, stream: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    anonymizer = Anonymizer(policy)
    traces = []
    for batch in stream:
        anonymizer.push_batch(batch)
        traces.append(anonymizer.trace)
    anonymizer.flush()
    return [*traces, anonymizer.trace]


def measure_growth(bench: Benchmark) -> Figures:
    """The cost of a tuple by window, by k, and by number of quasi-identifiers."""
    w = bench.workload
    points = {"window": w.windows, "k": w.ks, "quasi": w.quasis}
    keys = [(axis, value, variant) for axis, values in points.items() for value in values for variant in bench.variants]
    tasks = []
    for axis, value, variant in keys:
        change: dict[str, Any] = {axis: value}
        changed = replace(w, **change)
        work = partial(anonymize, bench.policy(variant, changed), bench.stream(w.growth, changed))
        tasks.append(Task(f"{variant.label}, {AXES[axis]} {value:,}", work, w.growth))
    rows = [
        {"axis": axis, "value": value, "algorithm": variant.label, "timing": each.timing, "loss": each.result.loss}
        for (axis, value, variant), each in zip(keys, bench.timed(tasks), strict=True)
    ]
    return {"rows": rows, "fixed": {"window": w.window, "k": w.k, "quasi": w.quasi}}


def growth_tables(result: Figures) -> list[Table]:
    fixed = result["fixed"]
    found = []
    for axis, name in AXES.items():
        rows = [row for row in result["rows"] if row["axis"] == axis]
        values = sorted({row["value"] for row in rows})
        lines = []
        for algorithm in dict.fromkeys(row["algorithm"] for row in rows):
            costs = [row["timing"]["ns"] for row in rows if row["algorithm"] == algorithm]
            lines.append((algorithm, *map(whole, costs), f"{exponent(values, costs):+.2f}"))
        rest = ", ".join(f"{AXES[other]} {fixed[other]:,}" for other in AXES if other != axis)
        title = f"ns per tuple by {name} ({rest}; {count(rows[0]['timing']['tuples'])} tuples)"
        found.append(Table(title, (name, *(f"{value:,}" for value in values), "exponent"), lines))
    return [*found[:-1], replace(found[-1], notes=["The exponent is e where cost grows as the e-th power."])]


def exponent(values: list[int], costs: list[float]) -> float:
    """The e for which the costs go most nearly as values ** e.

    >>> round(exponent([1, 2, 4], [3.0, 6.0, 12.0]), 6)
    1.0
    """
    if len(values) < 2:
        return 0.0
    return float(np.polyfit(np.log(values), np.log(costs), 1)[0])
