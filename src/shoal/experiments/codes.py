"""A stream as numbers, for what is computed here in plain numpy."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.datasets import DataSet

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Hierarchy:
    """Leaves are numbered depth first, so that a node is an interval of them: `lo`, `hi` and `loss` of the lowest common
    ancestor of any two leaves, and thereby of any set, by its first and last."""

    leaves: Mapping[str, int]
    lo: Ints
    hi: Ints
    loss: Floats

    @classmethod
    def read(cls, path: Path) -> Hierarchy:
        lines = [line.split(";") for line in path.read_text(encoding="utf-8").splitlines() if line]
        paths = sorted([part.strip() for part in line][::-1] for line in lines)  # from the root, so that nodes are intervals
        leaves = {path[-1]: i for i, path in enumerate(paths)}
        under: dict[tuple[str, ...], list[int]] = defaultdict(list)
        for i, names in enumerate(paths):
            for depth in range(1, len(names) + 1):
                under[tuple(names[:depth])].append(i)
        n = len(paths)
        lo, hi = np.zeros((n, n), np.int64), np.zeros((n, n), np.int64)
        for prefix in sorted(under, key=len):
            within = under[prefix]
            first, last = within[0], within[-1]
            lo[first : last + 1, first : last + 1], hi[first : last + 1, first : last + 1] = first, last
        return cls(leaves, lo, hi, (hi - lo) / max(n - 1, 1))


@dataclass(frozen=True)
class Codes:
    """A stream as numbers: values clipped to their range, or leaves."""

    values: list[Floats | Ints]
    there: NDArray[np.bool_]  # a row each quasi-identifier
    domains: list[float | Hierarchy]  # the width of a range, or a hierarchy

    @classmethod
    def of(cls, data: DataSet) -> Codes:
        values: list[Floats | Ints] = []
        domains: list[float | Hierarchy] = []
        there = []
        for name, span in data.quasi.items():
            column = data.rows.column(name).combine_chunks()
            there.append(pc.is_valid(column).to_numpy(zero_copy_only=False))
            if span:
                numbers = column.cast(pa.float64()).fill_null(span[0]).to_numpy(zero_copy_only=False)
                values.append(np.clip(numbers, *span))
                domains.append(span[1] - span[0])
            else:
                hierarchy = Hierarchy.read(data.folder / "hierarchies" / f"{name}.csv")
                if pa.types.is_floating(column.type):
                    column = column.cast(pa.int64())
                labels = column.cast(pa.string()).to_pylist()
                values.append(np.array([0 if label is None else hierarchy.leaves[label] for label in labels]))
                domains.append(hierarchy)
        return cls(values, np.array(there), domains)

    def distances(self, t: int, others: Ints, weight: float) -> Floats:
        """weight · dist + (1 - weight) · (1 - Jaccard), from one tuple to others."""
        total, shared = np.zeros(len(others)), np.zeros(len(others))
        for values, there, domain in zip(self.values, self.there, self.domains, strict=True):
            if there[t]:
                both, other = there[others], values[others]
                apart = domain.loss[values[t], other] if isinstance(domain, Hierarchy) else np.abs(other - values[t]) / domain
                total += np.where(both, apart, 0.0)
                shared += both
        dist = np.divide(total, shared, out=np.ones_like(total), where=shared > 0)
        if weight == 1.0:
            return dist
        union = self.there[:, t].sum() + self.there[:, others].sum(axis=0) - shared
        jaccard = np.divide(shared, union, out=np.ones_like(total), where=union > 0)
        return weight * dist + (1 - weight) * (1 - jaccard)

    def generalized(self, members: Ints) -> tuple[Floats, Floats, Floats]:
        """lo, hi and loss of each quasi-identifier that a member has; where none has, an interval that covers nothing."""
        q = len(self.values)
        lo, hi, loss = np.full(q, np.inf), np.full(q, -np.inf), np.zeros(q)
        for i, (values, there, domain) in enumerate(zip(self.values, self.there, self.domains, strict=True)):
            own = values[members][there[members]]
            if len(own):
                first, last = own.min(), own.max()
                if isinstance(domain, Hierarchy):
                    lo[i], hi[i], loss[i] = domain.lo[first, last], domain.hi[first, last], domain.loss[first, last]
                else:
                    lo[i], hi[i], loss[i] = first, last, (last - first) / domain
        return lo, hi, loss
