"""What sets save: tide's loss and an analyst's errors, where groups show their members' values instead of one node."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypedDict

import pyarrow as pa

from shoal import Anonymizer, Policy, Stats
from shoal.audit import Evidence, answers, gather
from shoal.bench.benchmark import Benchmark
from shoal.bench.table import Table, loss
from shoal.datasets import DataSet

HOW = ("node", "set")


class SetCell(TypedDict):
    data: str
    family: str
    k: int
    window: int
    loss: dict[str, float]  # by how categories are generalized
    errors: dict[str, float] | None  # of counts of the most frequent categories, as a mean over the attributes


def measure_sets(bench: Benchmark, found: Sequence[DataSet]) -> list[SetCell]:
    """Tide, quick, on the data sets that have categories, under the default reading of nulls."""
    w, cells = bench.workload, []
    middle = w.loss_ks[len(w.loss_ks) // 2], w.loss_windows[len(w.loss_windows) // 2]
    for data in found:
        if all(data.quasi.values()):
            continue
        short = data.head(w.loss_tuples)
        for k in w.loss_ks:
            cells += [_cell(short, k, window, (k, window) == middle) for window in w.loss_windows]
    return cells


def _cell(data: DataSet, k: int, window: int, asked: bool) -> SetCell:
    losses, errors = {}, {}
    for how in HOW:
        policy = data.policy({"name": "tide"}, k, {"count": window}, nulls_match="blurred", one_in_k=True, generalize=how)
        stats, evidence = judged(policy, data.rows.combine_chunks())
        losses[how] = stats.loss
        if asked:
            each = [category.count for category in answers(evidence).categories.values()]
            errors[how] = sum(each) / max(1, len(each))
    return {
        "data": data.name, "family": data.family, "k": k, "window": window, "loss": losses, "errors": errors or None,
    }  # fmt: skip


def judged(policy: Policy, rows: pa.Table) -> tuple[Stats, Evidence]:
    """The statistics of a run, and its output as the audit sees it."""
    stats, published, trace = traced(policy, rows)
    evidence = gather(policy, rows, published, trace)
    assert isinstance(evidence, Evidence)
    return stats, evidence


def traced(policy: Policy, rows: pa.Table) -> tuple[Stats, pa.Table, pa.Table]:
    """The statistics, the output and the trace of a run."""
    anonymizer = Anonymizer(policy)
    published, traces = [], []
    for batch in rows.to_batches():
        published.append(anonymizer.push_batch(batch))
        traces.append(anonymizer.trace)
    published.append(anonymizer.flush())
    traces.append(anonymizer.trace)
    stats = anonymizer.stats
    assert isinstance(stats, Stats)
    return stats, pa.Table.from_batches(published), pa.Table.from_batches(traces)


def sets_table(cells: Sequence[SetCell]) -> Table:
    """Geometric means over the data sets of a family, all k and windows."""
    rows = []
    for family in dict.fromkeys(cell["family"] for cell in cells):
        own = [cell for cell in cells if cell["family"] == family]
        nodes, sets = (_mean([cell["loss"][how] for cell in own]) for how in HOW)
        ratios = [cell["loss"]["set"] / max(cell["loss"]["node"], 1e-12) for cell in own]
        errors = [cell["errors"] for cell in own if cell["errors"]]
        asked = (f"{sum(each[how] for each in errors) / max(1, len(errors)):.2f}" for how in HOW)
        rows.append((
            family, loss(nodes), loss(sets), f"{100 * (1 - _mean(ratios)):.1f} %", f"{100 * (1 - max(ratios)):.1f} %",
            f"{100 * (1 - min(ratios)):.1f} %", *asked,
        ))  # fmt: skip
    header = ("data", "nodes", "sets", "less", "worst cell", "best cell", "errors, nodes", "errors, sets")
    notes = [
        "Nulls are blurred, and no person has more than 1/k of a group's rows. Errors: of counts of the ten most frequent "
        "categories, as shares of these, a mean over the attributes at the middle k and window."
    ]
    return Table("Sets of values instead of nodes: tide quick", header, rows, notes)


def _mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(max(value, 1e-12)) for value in values) / len(values))
