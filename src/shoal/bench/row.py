"""What it costs that the whole row counts: no person has more than 1/k of the rows of a group, and all show one time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from shoal import Policy, Stats
from shoal.bench.benchmark import Benchmark, Figures, anonymize
from shoal.bench.data import datasets
from shoal.bench.table import NOTHING, Table, loss, times
from shoal.bench.timing import Task
from shoal.bench.workload import Variant
from shoal.datasets import DataSet
from shoal.demo import policy_of, wearables
from shoal.policy import needs_reuse_age

FOUR = "four times each"
GRIDS = (1.0, 5.0, 10.0, 60.0)  # seconds, of a window of 10
_RATE = 4  # tuples of the generated stream for each of other streams: a window of it holds as many persons


def measure_row(bench: Benchmark) -> Figures:
    """Each algorithm with `one_in_k` and without, where persons come back; and with a published time, by its grid."""
    w = bench.workload
    streams, worn = _streams(bench), list(wearables(_RATE * w.loss_tuples, w.seed))
    shares, moments = [], []
    for i, variant in enumerate(bench.variants):
        bench.step(variant.label, i, len(bench.variants))
        for name, data in streams.items():
            batches = data.rows.combine_chunks().to_batches()
            shares.append(_both(bench, name, variant, partial(_bound, bench, data, variant), batches))
        shares.append(_both(bench, "wearables", variant, partial(_worn, variant), worn))
        for grid in (None, *GRIDS):
            moments.append({"algorithm": variant.label, "grid": grid, **_figures(anonymize(_worn(variant, True, grid), worn))})
    sizes = {"k": w.k, "window": w.window, "tuples": w.loss_tuples, "worn": _RATE * w.loss_tuples}
    return {"shares": shares, "moments": moments, **sizes}


def _streams(bench: Benchmark) -> dict[str, DataSet]:
    w = bench.workload
    known = {data.name: data.head(w.loss_tuples) for data in datasets(bench.adult.folder.parent, w.seed)}
    found: dict[str, DataSet] = {name: data for name, data in known.items() if name in ("Adult 3", "INFORMS 2")}
    found[f"Adult 3, {FOUR}"] = known["Adult 3"].ordered(FOUR, w.seed)
    return found


def _bound(bench: Benchmark, data: DataSet, variant: Variant, one_in_k: bool) -> Policy:
    w = bench.workload
    return data.policy(variant.algorithm, w.k, {"count": w.window}, nulls_match="blurred", one_in_k=one_in_k)


def _worn(variant: Variant, one_in_k: bool, grid: float | None = None) -> Policy:
    """The demo's policy with another algorithm, and its time dropped or on another grid."""
    usual = policy_of(variant.name)
    time = {"field": "ts"} if grid is None else {"field": "ts", "publish": "generalize", "grid": grid}
    age = {"reuse_age": "60s"} if needs_reuse_age(variant.name) else {}
    attributes = {
        name: {"quasi": "categorical", "hierarchy": a.hierarchy}
        if a.hierarchy
        else {"quasi": "numeric", "range": [a.low, a.high], "grid": a.grid}
        for name, a in usual.quasi
    }
    return Policy.parse({
        "person": "pid", "time": time, "attributes": attributes, "privacy": {"k": usual.privacy.k, "one_in_k": one_in_k},
        "window": {"time": usual.window.length}, "algorithm": {**variant.algorithm, **age},
    })  # fmt: skip


def _both(
    bench: Benchmark, data: str, variant: Variant, policy: Callable[[bool], Policy], batches: Sequence[pa.RecordBatch]
) -> dict[str, Any]:
    tuples = sum(batch.num_rows for batch in batches)
    plain, bound = bench.timed([Task(data, partial(anonymize, policy(asked), batches), tuples) for asked in (False, True)])
    return {
        "data": data, "algorithm": variant.label, "plain": _figures(plain.result), "bound": _figures(bound.result),
        "ns": [plain.timing["ns"], bound.timing["ns"]],
    }  # fmt: skip


def _figures(stats: Stats) -> dict[str, float]:
    released = max(1, stats.released)
    return {"loss": stats.loss, "suppressed": stats.suppressed / released, "reused": stats.reused / released}


def row_tables(result: Figures) -> list[Table]:
    return [*_share_tables(result), _time_table(result)]


def _share_tables(result: Figures) -> list[Table]:
    header = ("algorithm", "loss", "one in k", "more", "reused", "one in k", "suppressed", "one in k", "time")
    found = []
    for data in dict.fromkeys(each["data"] for each in result["shares"]):
        rows = []
        for each in (each for each in result["shares"] if each["data"] == data):
            before, after, ns = each["plain"], each["bound"], each["ns"]
            more = f"{100 * (after['loss'] / before['loss'] - 1):+.1f} %" if before["loss"] else NOTHING
            rows.append((
                each["algorithm"], loss(before["loss"]), loss(after["loss"]), more, _share(before["reused"]),
                _share(after["reused"]), _share(before["suppressed"]), _share(after["suppressed"]), times(ns[1] / ns[0]),
            ))  # fmt: skip
        found.append(Table(f"What one in k costs: {data}", header, rows))
    notes = [
        f"k {result['k']}, a window of {result['window']:,}, {result['tuples']:,} tuples, blurred nulls; wearables: the demo's "
        f"policy and {result['worn']:,} tuples. Time: with one in k against without."
    ]
    return [*found[:-1], Table(found[-1].title, header, found[-1].rows, notes)]


def _time_table(result: Figures) -> Table:
    header = ("algorithm", *("not published" if grid is None else f"{grid:.0f} s" for grid in (None, *GRIDS)))
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in result["moments"]:
        found.setdefault(each["algorithm"], []).append(each)
    rows = [(name, *(f"{loss(each['loss'])}, {_share(each['reused'])}" for each in own)) for name, own in found.items()]
    note = f"Loss, and the share of tuples that leave by reuse, by time.grid; {result['worn']:,} tuples, a window of 10 s."
    return Table("What a published time costs: wearables", header, rows, [note])


def _share(part: float) -> str:
    return f"{100 * part:.1f} %"
