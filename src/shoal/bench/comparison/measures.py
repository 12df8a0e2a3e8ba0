"""What is measured of one run: what the audit measures, what a model learns from the output, waits and speed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import extras
from shoal.audit import Band, Evidence, Node, WindowReport, judge
from shoal.bench.table import NOTHING, rate

Floats = NDArray[np.float64]


class Measure(NamedTuple):
    """A column of the tables."""

    title: str
    meaning: str
    digits: int = 3
    higher_is_better: bool = False

    def shown(self, value: float | None, half: float | None = None) -> str:
        """
        >>> MEASURES["loss"].shown(0.25, 0.0123), MEASURES["loss"].shown(None), MEASURES["rate"].shown(12345.0)
        ('0.250 ± 0.012', '-', '12.3 k')
        """
        if value is None or np.isnan(value):
            return NOTHING
        own = rate if self.digits < 0 else lambda number: f"{number:,.{self.digits}f}"
        return own(value) if half is None else f"{own(value)} ± {own(half)}"


MEASURES: Mapping[str, Measure] = {
    "loss": Measure("loss", "mean loss of a tuple, from 0 (as it came) to 1 (suppressed)"),
    "discernibility": Measure(
        "discernibility", "tuples in the class of a tuple, in the mean; all tuples if it is suppressed", 1
    ),
    "class_size": Measure("class size", "persons in a class of equal rows, in the mean", 1),
    "query_error": Measure("query error", "relative error of counts with two conditions, the median"),
    "accuracy": Measure("accuracy", "of a model trained on the output, on records that it did not see", 3, True),
    "accuracy_input": Measure("accuracy, input", "of the same model trained on the input", 3, True),
    "mean_wait": Measure("wait", "from arrival to release, in the mean: arrivals, or seconds", 1),
    "longest_wait": Measure("longest wait", "the longest of these", 0),
    "suppressed": Measure("suppressed", "share of the tuples", 4),
    "linkage": Measure("linkage", "success of an attacker who knows a record's quasi-identifiers"),
    "whole_row": Measure("whole row", "success of an attacker who knows all of a record that the output shows"),
    "below_k": Measure("below k", "share of the rows in classes below k, with all that is published", 4),
    "rate": Measure("tuples/s", "tuples per second, one core, Arrow in to Arrow out", -1, True),
}


def figures(evidence: Evidence, rows: pa.Table, label: str | None, seed: int) -> dict[str, Any]:
    """Every measure but the rate, and whether all promises held."""
    report = judge(evidence)
    assert isinstance(report, WindowReport)
    use = report.figures.utility
    attacks = {each.name: each.success for each in report.exposures}
    trace = evidence.trace
    assert trace is not None
    waits = trace.released - trace.arrived
    learned = accuracies(evidence, rows, label, seed) if label and extras.has("sklearn") else (None, None)
    return {
        "loss": use.loss.mean,
        "discernibility": use.discernibility / max(1, len(evidence.suppressed)),
        "class_size": report.figures.risk["extended"].average,
        "query_error": use.answers.pair_median,
        "accuracy": learned[0],
        "accuracy_input": learned[1],
        "mean_wait": float(waits.mean()) if len(waits) else 0.0,
        "longest_wait": float(waits.max()) if len(waits) else 0.0,
        "suppressed": use.suppressed,
        "linkage": attacks["linkage"],
        "whole_row": attacks["whole row"],
        "below_k": attacks["below k"],
        "held": report.held,
    }  # fmt: skip


def accuracies(evidence: Evidence, rows: pa.Table, label: str, seed: int) -> tuple[float | None, float | None]:
    """How often a logistic regression is right about records it did not see: trained on the output, and on the input.

    A fifth of the records, drawn with the seed, is kept for the test, as it came; the model is trained on the other records, as
    they were published or as they came. A record that was suppressed teaches nothing. None where there are not two labels.
    """
    from sklearn.linear_model import LogisticRegression

    trace = evidence.trace
    assert trace is not None
    wanted = np.asarray(rows.column(label).combine_chunks().cast(pa.string()).to_pylist(), dtype=object)[evidence.line]
    known = np.array([each is not None for each in wanted])
    drawn = np.random.default_rng([seed, 2]).random(len(wanted)) < 0.2
    came = originals(evidence)
    shown = np.asarray(evidence.shown[label].cast(pa.string()).to_pylist(), dtype=object)
    taught = (
        np.array([each is not None for each in shown])
        & ~evidence.suppressed
        & (trace.row >= 0)
        & ~np.append(drawn, True)[trace.row]
    )
    test, sets = (
        came[known & drawn],
        ((publications(evidence)[taught], shown[taught]), (came[known & ~drawn], wanted[known & ~drawn])),
    )
    right: list[float | None] = []
    for features, labels in sets:
        if not len(test) or len(set(labels)) < 2:
            right.append(None)
            continue
        model = LogisticRegression(max_iter=1000).fit(features, labels.astype(str))
        right.append(float(np.mean(model.predict(test) == wanted[known & drawn].astype(str))))
    return right[0], right[1]


def originals(evidence: Evidence) -> Floats:
    """The records as they came: numbers as shares of their range, categories by leaf; what is missing is the mean."""
    columns = []
    for name, attribute in evidence.policy.quasi:
        original, shown = evidence.original[name], evidence.published[name]
        if isinstance(shown, Node):
            leaf = original.leaf  # type: ignore[union-attr]
            found = np.zeros((len(leaf), shown.tree.leaves))
            found[np.arange(len(leaf))[leaf >= 0], leaf[leaf >= 0]] = 1.0
            found[leaf < 0] = found[leaf >= 0].mean(axis=0) if (leaf >= 0).any() else 0.0
            columns.append(found)
        else:
            columns.append(_number(original.value, attribute.low, attribute.high))  # type: ignore[union-attr]
    return np.hstack(columns)


def publications(evidence: Evidence) -> Floats:
    """The rows of the output in the same columns: an interval by its middle, a node or set by equal shares of its leaves."""
    columns = []
    for name, attribute in evidence.policy.quasi:
        shown = evidence.published[name]
        if isinstance(shown, Band):
            columns.append(_number((shown.lo + shown.hi) / 2, attribute.low, attribute.high))
            continue
        leaves = np.arange(shown.tree.leaves)
        inside = (shown.tree.first[:, None] <= leaves) & (leaves <= shown.tree.last[:, None])
        each = np.vstack([inside, shown.member.reshape(-1, len(leaves))]) / shown.sizes[:, None]
        there = shown.node >= 0
        found = each[np.maximum(shown.node, 0)]
        found[~there] = found[there].mean(axis=0) if there.any() else 0.0
        columns.append(found)
    return np.hstack(columns)


def _number(values: Floats, low: float, high: float) -> Floats:
    share = (values - low) / (high - low)
    known = ~np.isnan(share)
    return np.where(known, share, share[known].mean() if known.any() else 0.0)[:, None]
