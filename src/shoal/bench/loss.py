"""Information loss: of each algorithm at the same k and the same longest wait, by reading of nulls, and of sparse streams."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal import Anonymizer, Stats
from shoal.audit import answers
from shoal.bench.benchmark import Benchmark, Figures, anonymize
from shoal.bench.data import datasets
from shoal.bench.sets import judged, measure_sets, sets_table
from shoal.bench.table import NOTHING, Table, loss
from shoal.bench.workload import Variant
from shoal.datasets import ORDERS, DataSet

QUICK, THOROUGH = "tide quick", "tide thorough"
AIMS = {"Adult": (0.25, 0.28), "INFORMS": (0.25, 0.28), "PM2.5": (0.14, 0.17)}  # how much less, quick and thorough
_OFFLINE = Variant("offline", "tide", {"effort": "thorough"})


class Cell(TypedDict):
    data: str
    family: str
    order: str
    k: int
    window: int
    loss: dict[str, float]  # by algorithm
    suppressed: dict[str, int]
    offline: float | None  # with all tuples in view


def measure_loss(bench: Benchmark) -> Figures:
    """Each algorithm on each data set, by k and window; some also in other orders of the rows."""
    w = bench.workload
    found = list(datasets(bench.adult.folder.parent, w.seed))
    cells = []
    for i, data in enumerate(found):
        bench.step(data.name, i, len(found))
        short = data.head(w.loss_tuples)
        for k in w.loss_ks:
            offline = _run(short, _OFFLINE, k, 2 * short.rows.num_rows).loss
            cells += [_cell(bench, short, ORDERS[0], k, window, offline) for window in w.loss_windows]
        if i in (1, len(found) - 1):
            k, window = w.loss_ks[len(w.loss_ks) // 2], w.loss_windows[len(w.loss_windows) // 2]
            cells += [_cell(bench, short.ordered(order, w.seed), order, k, window, None) for order in ORDERS[1:]]
    has_tide = any(variant.name == "tide" for variant in bench.variants)
    return {"cells": cells, "tuples": w.loss_tuples, "sets": measure_sets(bench, found) if has_tide else []}


def _cell(bench: Benchmark, data: DataSet, order: str, k: int, window: int, offline: float | None) -> Cell:
    found = {variant.label: _run(data, variant, k, window) for variant in bench.variants}
    return {
        "data": data.name, "family": data.family, "order": order, "k": k, "window": window,
        "loss": {label: stats.loss for label, stats in found.items()},
        "suppressed": {label: stats.suppressed for label, stats in found.items()}, "offline": offline,
    }  # fmt: skip


def _run(data: DataSet, variant: Variant, k: int, window: int) -> Stats:
    """X-BAND's pocket is part of the wait: a half or a quarter of it, whichever loses less."""
    if variant.name == "xband":
        tried = []
        for pocket in (window // 2, window // 4):
            pocketed = replace(variant, parameters={**variant.parameters, "reuse_age": pocket})
            tried.append(_anonymized(data, pocketed, k, max(k, window - pocket)))
        return min(tried, key=lambda stats: stats.loss)
    return _anonymized(data, variant, k, window)


def _anonymized(data: DataSet, variant: Variant, k: int, window: int) -> Stats:
    policy = data.policy(variant.algorithm, k, {"count": window}, nulls_match="maybe")
    return anonymize(policy, data.rows.combine_chunks().to_batches())


def loss_tables(result: Figures) -> list[Table]:
    plain = [cell for cell in result["cells"] if cell["order"] == ORDERS[0]]
    turned = [cell for cell in result["cells"] if cell["order"] != ORDERS[0]]
    found = [_means(plain, result["tuples"])]
    if (summary := _summary(plain)).rows:
        found.append(summary)
    if result.get("sets"):
        found.append(sets_table(result["sets"]))
    for data in dict.fromkeys(cell["data"] for cell in plain):
        own = [cell for cell in plain if cell["data"] == data]
        by_size = {f"{cell['k']}, {cell['window']:,}": cell for cell in own}
        found += [
            _table(f"Loss: {data}", "k, window", by_size),
            _by_algorithm(f"Loss by algorithm: {data}", "k, window", by_size),
        ]
    for data in dict.fromkeys(cell["data"] for cell in turned):
        own = [cell for cell in turned if cell["data"] == data]
        title = f"Loss: {data} in other orders, and with persons who come back; k {own[0]['k']}, window {own[0]['window']:,}"
        by_order = {cell["order"]: cell for cell in own}
        found += [_table(title, "rows", by_order), _by_algorithm(title.replace("Loss", "Loss by algorithm"), "rows", by_order)]
    return found


def _by_algorithm(title: str, varied: str, cells: Mapping[str, Cell]) -> Table:
    """One column per algorithm."""
    labels = list(next(iter(cells.values()))["loss"])
    rows = [(where, *(f"{cell['loss'][label]:.3f}" for label in labels)) for where, cell in cells.items()]
    return Table(title, (varied, *labels), rows)


def _table(title: str, varied: str, cells: Mapping[str, Cell]) -> Table:
    header = (varied, "best other", "loss", "tide quick", "less", "thorough", "less", "offline")
    rows = []
    for where, cell in cells.items():
        name = best_other(cell)
        rows.append((
            where, name or NOTHING, loss(cell["loss"].get(name)), loss(cell["loss"].get(QUICK)), _less(cell, QUICK),
            loss(cell["loss"].get(THOROUGH)), _less(cell, THOROUGH), loss(cell["offline"]),
        ))  # fmt: skip
    return Table(title, header, rows)


def _means(cells: Sequence[Cell], tuples: int) -> Table:
    """The geometric mean over k and window of what each algorithm loses, one column for each family of data sets."""
    families = list(dict.fromkeys(cell["family"] for cell in cells))
    rows = [
        (label, *(loss(_mean(cell["loss"][label] for cell in cells if cell["family"] == family)) for family in families))
        for label in cells[0]["loss"]
    ]
    limit = (loss(_mean(cell["offline"] or 0.0 for cell in cells if cell["family"] == family)) for family in families)
    note = (
        "Geometric means over the data sets of a kind, all k and windows. The longest wait is the window, X-BAND's pocket "
        "included. Offline: tide with all tuples in view."
    )
    return Table(f"Loss, {tuples:,} tuples", ("algorithm", *families), [*rows, ("offline", *limit)], [note])


def _summary(cells: Sequence[Cell]) -> Table:
    """How much less than the best other in each cell, against the aims."""
    rows = []
    for family, aims in AIMS.items():
        own = [cell for cell in cells if cell["family"] == family and best_other(cell)]
        for label, aim in zip((QUICK, THOROUGH), aims, strict=True):
            if own and all(label in cell["loss"] for cell in own):
                ratios = [cell["loss"][label] / cell["loss"][best_other(cell)] for cell in own]
                more = sum(cell["suppressed"][label] > cell["suppressed"].get("fads", 0) for cell in own)
                rows.append((
                    f"{family}, {label}", f"{100 * (1 - _mean(ratios)):.1f} %", f"{100 * aim:.0f} %",
                    f"{100 * (1 - max(ratios)):.1f} %", f"{100 * (1 - min(ratios)):.1f} %", str(more),
                ))  # fmt: skip
    header = ("data, effort", "less", "aim", "worst cell", "best cell", "more suppressed")
    return Table("Tide against the best other in each cell", header, rows, ["More suppressed: in so many cells than by fads."])


def best_other(cell: Cell) -> str:
    """The algorithm besides tide that loses least; "" if there is none.

    >>> best_other({"loss": {"fads": 0.5, "idea": 0.4, "tide quick": 0.3}})
    'idea'
    """
    others = {label: loss for label, loss in cell["loss"].items() if not label.startswith("tide")}
    return min(others, key=lambda label: others[label], default="")


def _less(cell: Cell, label: str) -> str:
    other = best_other(cell)
    if not other or label not in cell["loss"]:
        return NOTHING
    return f"{100 * (1 - cell['loss'][label] / cell['loss'][other]):.1f} %"


def _mean(values: Iterable[float]) -> float:
    logs = [math.log(max(value, 1e-12)) for value in values]
    return math.exp(sum(logs) / len(logs))


READINGS = ("maybe", "blurred", "extended", "root")  # nulls match any value, are in doubt, match nulls, or are roots


def measure_nulls(bench: Benchmark) -> Figures:
    """Each algorithm under each reading of nulls, on the data sets that have nulls: loss, and errors of counts."""
    w = bench.workload
    found = [data.head(w.loss_tuples) for data in datasets(bench.adult.folder.parent, w.seed) if data.misses]
    rows = []
    steps = [(data, variant) for data in found for variant in bench.variants]
    k = min(w.k, w.loss_ks[len(w.loss_ks) // 2])
    for i, (data, variant) in enumerate(steps):
        bench.step(f"{data.name}, {variant.label}", i, len(steps))
        row: Figures = {"data": data.name, "algorithm": variant.label, "loss": {}, "single": {}, "pairs": {}}
        for reading in READINGS:
            policy = data.policy(variant.algorithm, k, {"count": w.window}, nulls_match=reading)
            stats, evidence = judged(policy, data.rows.combine_chunks())
            errors = answers(evidence)
            each = [*(n.range_median for n in errors.numbers.values()), *(c.count for c in errors.categories.values())]
            row["loss"][reading] = stats.loss
            row["single"][reading] = sum(each) / max(1, len(each))
            row["pairs"][reading] = errors.pair_median
            if reading == "blurred":
                row["doubt"] = stats.doubt
        rows.append(row)
    return {"rows": rows, "k": k, "window": w.window, "tuples": w.loss_tuples}


def nulls_tables(result: Figures) -> list[Table]:
    where = f"at k {result['k']}, window {result['window']:,}, {result['tuples']:,} tuples"
    losses, counts = [], []
    for row in result["rows"]:
        own = row["loss"]
        more = own["blurred"] / own["maybe"] - 1 if own["maybe"] else 0.0
        name = f"{row['data']}, {row['algorithm']}"
        shares = f"{100 * more:+.1f} %", f"{100 * row['doubt']:.0f} %"
        losses.append((name, *(loss(own[each]) for each in READINGS), *shares))
        counts.append((name, *(f"{row['single'][each]:.2f}, {row['pairs'][each]:.2f}" for each in READINGS)))
    notes = [
        "Under maybe, the reading of the papers, an observer who takes nulls as values sees classes of fewer than k.",
        'In doubt: the share of the published values that say "or missing" under blurred.',
    ]
    estimators = [
        "Relative errors of counts, as the audit defines them: of one attribute (ranges of numbers, most frequent categories; "
        "mean over the attributes), and of two at once (median).",
        "An interval counts as any of its values, a node as any of its leaves. A null counts as nothing (maybe, extended); a "
        "root as any value of the range (root); a value in doubt as the likely share of one (blurred).",
    ]
    header = "most missing, algorithm", *READINGS
    return [
        Table(f"What a reading of nulls costs: loss {where}", (*header, "blurred against maybe", "in doubt"), losses, notes),
        Table(f"What a reading of nulls costs: errors of counts {where}", header, counts, estimators),
    ]


RATES = (0.25, 0.5, 0.75, 0.9, 1.0, 1.25, 1.5, 2.0, 4.0)  # persons that arrive in one window, in units of k
STRETCHES = (1, 2, 4)
_WINDOW = 60  # seconds


def measure_sparse(bench: Benchmark) -> Figures:
    """What longer windows save, by how many persons arrive in one window."""
    w = bench.workload
    data = next(data for data in datasets(bench.adult.folder.parent, w.seed) if data.misses).head(w.loss_tuples // 4)
    k, rows = w.loss_ks[0] * 2, []
    for i, rate in enumerate(RATES):
        bench.step(f"{rate:g} k persons a window", i, len(RATES))
        rows += [_sparse_row(data, bench.first, k, rate, stretch, w.seed) for stretch in STRETCHES]
    return {"algorithm": bench.first.label, "data": data.name, "k": k, "rows": rows}


def _sparse_row(data: DataSet, variant: Variant, k: int, rate: float, stretch: int, seed: int) -> Figures:
    """Arrivals at random, so many in a window on average."""
    gaps = np.random.default_rng(seed).exponential(_WINDOW / (rate * k), data.rows.num_rows)
    rows = data.rows.append_column("ts", pa.array(np.cumsum(gaps)))
    sections = {"time": {"field": "ts"}, "sparse": {"stretch": stretch}}
    anonymizer = Anonymizer(data.policy(variant.algorithm, k, {"time": _WINDOW}, sections=sections))
    traces = []
    for batch in rows.combine_chunks().to_batches(max_chunksize=512):
        anonymizer.push_batch(batch)
        traces.append(anonymizer.trace)
    anonymizer.flush()
    stats, trace = anonymizer.stats, pa.Table.from_batches([*traces, anonymizer.trace])
    assert isinstance(stats, Stats)
    waits = pc.subtract(trace.column("released"), trace.column("arrived")).to_numpy() / _WINDOW
    return {
        "rate": rate, "stretch": stretch, "loss": stats.loss, "suppressed": stats.suppressed / stats.released,
        "wait": float(waits.mean()), "longest": float(waits.max()),  # in windows
    }  # fmt: skip


def sparse_tables(result: Figures) -> list[Table]:
    rows = []
    for rate in RATES:
        own = [row for row in result["rows"] if row["rate"] == rate]
        cells = (f"{row['loss']:.3f}, {100 * row['suppressed']:.1f} %, {row['wait']:.2f}" for row in own)
        rows.append((f"{rate:g} k", *cells))
    header = ("persons a window", *(f"stretch {stretch}" if stretch > 1 else "suppress" for stretch in STRETCHES))
    title = f"Sparse streams: {result['algorithm']} on {result['data']} at k {result['k']}"
    note = "Loss, tuples suppressed, mean wait in windows; arrivals at random times."
    return [Table(title, header, rows, [note])]
