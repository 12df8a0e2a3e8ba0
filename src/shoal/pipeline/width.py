"""How wide published values are: an interval against its range, the leaves of a node against all leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.pipeline.history import History
from shoal.policy import Policy
from shoal.policy.attribute import Attribute

Floats = NDArray[np.float64]


class Widths:
    """Measures the quasi-identifiers of published batches: 0 is as it came, 1 is all hidden.

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
        """For each quasi-identifier the sum of the widths, and how many values are shown."""
        sums, shown = np.zeros(len(self._quasi)), np.zeros(len(self._quasi), np.int64)
        for q, (name, attribute) in enumerate(self._quasi):
            column = value_of(published.column(name))
            shown[q] = len(column) - column.null_count
            if shown[q]:
                sums[q] = self._labelled(name, column) if attribute.hierarchy else _between(attribute, column)
        return sums, shown

    def _labelled(self, name: str, column: pa.Array) -> float:
        labels, widths = self._nodes[name]
        dictionary, indices = column.dictionary, column.indices.drop_null().to_numpy()
        if len(dictionary) != len(labels):
            widths = widths[pc.index_in(dictionary, labels).to_numpy()]
        return float(widths[indices].sum())


class Losses:
    """The losses of the quasi-identifiers, a row a second, from samples of what is published."""

    def __init__(self, policy: Policy) -> None:
        names = [name for name, _ in policy.quasi]
        self.history = History(names)
        self._shares = History(names)
        self._widths = Widths(policy)
        self._sums, self._shown, self._tuples = np.zeros(len(names)), np.zeros(len(names), np.int64), 0

    def take(self, published: pa.RecordBatch) -> None:
        sums, shown = self._widths.measure(published)
        self._sums += sums
        self._shown += shown
        self._tuples += published.num_rows

    def advance(self, seconds: int) -> None:
        """So many seconds went by, and all that was taken belongs to the first."""
        with np.errstate(invalid="ignore", divide="ignore"):
            self.history.add(self._sums / self._shown)
            self._shares.add(self._shown / np.float64(self._tuples))
        self.history.skip(seconds - 1)
        self._shares.skip(seconds - 1)
        self._sums[:], self._shown[:], self._tuples = 0, 0, 0

    def recent(self, seconds: int) -> list[dict[str, str | float | None]]:
        """Of each, the mean loss of the values that were shown lately, and what part of the tuples showed one."""
        losses, shares = self.history.last(seconds), self._shares.last(seconds)
        return [
            {"name": name, "loss": mean(losses[:, q]), "shown": mean(shares[:, q])} for q, name in enumerate(self.history.names)
        ]


def mean(values: Floats) -> float | None:
    """Of those that are known, if any is."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else None


def value_of(column: pa.Array) -> pa.Array:
    """The column itself, or the values of one that tells how many of a group had one."""
    if pa.types.is_struct(column.type) and column.type.get_field_index("value") >= 0:
        return pc.struct_field(column, "value")
    return column


def _node_widths(attribute: Attribute) -> tuple[pa.Array, Floats]:
    tree = attribute.hierarchy
    assert tree
    return pa.array(tree.labels, pa.string()), (tree.last - tree.first) / max(tree.leaves - 1, 1)


def _between(attribute: Attribute, column: pa.Array) -> float:
    low, high = (pc.sum(pc.struct_field(column, end)).as_py() for end in ("lo", "hi"))
    return float(high - low) / (attribute.high - attribute.low)
