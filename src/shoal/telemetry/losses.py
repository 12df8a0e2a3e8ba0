"""Losses of the published quasi-identifiers: an interval against its range, the leaves of a node against all leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.column_types import is_set
from shoal.policy import Attribute, Policy
from shoal.telemetry.history import Floats, History
from shoal.telemetry.spans import Spans


class Widths:
    """Measures how wide published values are: 0 is the exact value, 1 the whole domain.

    >>> policy = Policy.parse('''
    ... person: pid
    ... attributes: {age: {quasi: numeric, range: [0, 100]}}
    ... privacy: {k: 2}
    ... window: {count: 4}
    ... algorithm: {name: fads}
    ... ''')
    >>> ages = [{"age": {"lo": 20, "hi": 30}}, {"age": {"lo": 0, "hi": 100}}, {"age": None}]
    >>> Widths(policy).measure(pa.RecordBatch.from_pylist(ages))
    (array([1.1]), array([2]))
    """

    def __init__(self, policy: Policy) -> None:
        self._quasi = policy.quasi
        self._nodes = {name: _node_widths(attribute) for name, attribute in policy.quasi if attribute.hierarchy}

    def measure(self, published: pa.RecordBatch) -> tuple[Floats, NDArray[np.int64]]:
        """For each quasi-identifier, the sum of the widths and the number of values that are not null."""
        sums, shown = np.zeros(len(self._quasi)), np.zeros(len(self._quasi), np.int64)
        for q, (name, attribute) in enumerate(self._quasi):
            column = value_of(published.column(name))
            shown[q] = len(column) - column.null_count
            if shown[q]:
                sums[q] = self._labelled(name, column) if attribute.hierarchy else _between(attribute, column)
        return sums, shown

    def _labelled(self, name: str, column: pa.Array) -> float:
        labels, widths, step = self._nodes[name]
        if is_set(column.type):
            return _listed(labels, widths, step, column)
        dictionary, indices = column.dictionary, column.indices.drop_null().to_numpy()
        if len(dictionary) != len(labels):
            widths = widths[pc.index_in(dictionary, labels).to_numpy()]
        return float(widths[indices].sum())


class Losses:
    """The losses of the quasi-identifiers, one row per second, from samples of what is published."""

    def __init__(self, policy: Policy) -> None:
        names = [name for name, _ in policy.quasi]
        self.history = Spans(names)
        self._shares = History(names)
        self._widths = Widths(policy)
        self._sums, self._shown, self._tuples = np.zeros(len(names)), np.zeros(len(names), np.int64), 0

    def add(self, published: pa.RecordBatch) -> None:
        sums, shown = self._widths.measure(published)
        self._sums += sums
        self._shown += shown
        self._tuples += published.num_rows

    def advance(self, seconds: int) -> None:
        """Move on by this many seconds; all that was added belongs to the first of them."""
        with np.errstate(invalid="ignore", divide="ignore"):
            self.history.add(self._sums / self._shown)
            self._shares.add(self._shown / np.float64(self._tuples))
        self.history.skip(seconds - 1)
        self._shares.skip(seconds - 1)
        self._sums[:], self._shown[:], self._tuples = 0, 0, 0

    def restore(self, saved: Mapping[str, Any], gap: int, row: int) -> None:
        """Go on from what was kept of the same attributes, so many seconds later; the next row has this number."""
        if tuple(saved.get("names", ())) == self.history.names:
            self.history.restore(dict(saved), gap)
        else:
            self.history.skip(row)
        self._shares.put(row, np.zeros((0, len(self.history.names))))

    def recent(self, seconds: int) -> list[dict[str, str | float | None]]:
        """For each attribute, the mean loss of its values in the last seconds, and the share of tuples that show one."""
        losses, shares = self.history.last(seconds), self._shares.last(seconds)
        return [
            {"name": name, "loss": mean(losses[:, q]), "shown": mean(shares[:, q])} for q, name in enumerate(self.history.names)
        ]


def mean(values: Floats) -> float | None:
    """The mean of all values that are not NaN; None if there is none."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def value_of(column: pa.Array) -> pa.Array:
    """The column itself; of a column that also says whether a value is in doubt or imputed, the values."""
    if pa.types.is_struct(column.type) and column.type.get_field_index("value") >= 0:
        return pc.struct_field(column, "value")
    return column


def _node_widths(attribute: Attribute) -> tuple[pa.Array, Floats, float]:
    """The labels, their widths, and by how much a set is wider with one leaf more."""
    tree = attribute.hierarchy
    assert tree
    step = 1 / max(tree.leaves - 1, 1)
    return pa.array(tree.labels, pa.string()), (tree.last - tree.first) / max(tree.leaves - 1, 1), step


def _listed(labels: pa.Array, widths: Floats, step: float, column: pa.Array) -> float:
    """The sum of the widths of sets, by the leaves at or below their labels; a leaf more is a step more."""
    values = column.drop_null().flatten().drop_null()
    each = widths[pc.index_in(values.dictionary, labels).to_numpy()] + step
    return max(float(each[values.indices.to_numpy()].sum()) - step * (len(column) - column.null_count), 0.0)


def _between(attribute: Attribute, column: pa.Array) -> float:
    low, high = (pc.sum(pc.struct_field(column, end)).as_py() for end in ("lo", "hi"))
    return float(high - low) / (attribute.high - attribute.low)
