"""FADS in plain numpy, with what two papers changed in it. Each tuple is a person of its own.

K-VARP compares itself with a FADS that knows only the tuple's own partition: an expired tuple is held back until its partition
has k tuples, and the loss of one that leaves late is multiplied by (1 + α)^lateness. X-BAND's FADS measures distance as
α · dist + β · (1 - Jaccard). Without either it is the FADS of the engine, and a test compares the two.

Decisions: lateness counts arrivals after the deadline; a partition has a reuse set of its own; a tuple that was held back is
tried again when its partition has k tuples; what is left at the end takes a cover or is suppressed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.datasets import DataSet
from shoal.experiments.paper import Job, Outcome
from shoal.experiments.runs import BINS, Floats, Ints, stream


def fads_job(
    data: str,
    k: int,
    window: int,
    reuse_age: int,
    *,
    tuples: int | None,
    missing: int | None = None,
    weight: float = 1.0,
    penalty: float | None = None,
) -> Job:
    """`weight` is X-BAND's α; with a `penalty`, K-VARP's α, partitions are kept apart."""
    return Job.of(
        "fads", data=data, k=k, window=window, reuse_age=reuse_age, tuples=tuples, missing=missing, weight=weight,
        penalty=penalty,
    )  # fmt: skip


def run_fads(data: Path, settings: Mapping[str, Any]) -> Outcome:
    """What comes of the stream."""
    other = settings.get("reading", {})
    found = stream(data, settings["data"], settings["tuples"], settings["missing"], None, json.dumps(other, sort_keys=True))
    parameters = (settings[name] for name in ("k", "window", "reuse_age", "weight", "penalty"))
    return Fads(Encoded.of(found), *parameters, missing_is_lost=bool(other.get("missing_is_lost"))).run()


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
class Encoded:
    """A stream as numbers: values clipped to their range, or numbers of leaves."""

    values: list[Floats | Ints]
    there: NDArray[np.bool_]  # one row for each quasi-identifier
    domains: list[float | Hierarchy]  # the width of a range, or a hierarchy

    @classmethod
    def of(cls, data: DataSet) -> Encoded:
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


@dataclass
class Reuse:
    """Generalizations of published groups, oldest first."""

    entries: list[tuple[int, int, Floats, Floats, Floats]] = field(default_factory=list)  # time, pattern, lo, hi, loss

    def cover(self, own: Floats, there: NDArray[np.bool_], pattern: int | None) -> float | None:
        """The smallest loss with which an entry covers a tuple; if a pattern is given, only entries of that."""
        fit = [entry for entry in self.entries if pattern is None or entry[1] == pattern]
        if not fit:
            return None
        lo, hi, loss = (np.array([entry[part] for entry in fit])[:, there] for part in (2, 3, 4))
        covering = ((lo <= own[there]) & (own[there] <= hi)).all(axis=1)
        if not covering.any():
            return None
        sums = np.zeros(len(fit))
        for column in loss.T:
            sums += column
        return float((sums[covering] / there.sum()).min()) if there.any() else 0.0


class Fads:
    """A run over a whole stream; `patterns` has the partition of each tuple, one for all where partitions do not matter."""

    def __init__(
        self,
        encoded: Encoded,
        k: int,
        window: int,
        reuse_age: int,
        weight: float,
        penalty: float | None,
        *,
        missing_is_lost: bool = False,
    ) -> None:
        self.missing_is_lost = missing_is_lost
        self.encoded, self.k, self.window, self.age, self.weight, self.penalty = encoded, k, window, reuse_age, weight, penalty
        q, self.n = encoded.there.shape
        bits = 1 << np.arange(q, dtype=np.int64)
        whole = encoded.there.T @ bits
        self.patterns = whole if penalty is not None else np.zeros(self.n, np.int64)
        self.matrix = np.array(encoded.values, float).T
        self.held = np.zeros(self.n, bool)
        self.late: dict[int, list[int]] = defaultdict(list)
        self.parts: dict[int, list[int]] = defaultdict(list)
        self.reuse = Reuse()
        self.loss = np.zeros(self.n)
        self.lateness = np.zeros(self.n, np.int64)
        self.groups = self.clustered = self.reused = self.suppressed = 0
        self.purity: list[float] = []

    def run(self) -> Outcome:
        """Let every tuple arrive, and leave."""
        oldest = 0
        for now in range(self.n):
            while oldest < now and now - oldest >= self.window:
                if self.held[oldest]:
                    self.expire(oldest, now)
                oldest += 1
            self.arrive(now)
        for t in range(self.n):
            if self.held[t]:
                self.expire(t, self.n - 1, last=True)
        if self.missing_is_lost:
            there = self.encoded.there.sum(axis=0)
            self.loss = (self.loss * there + len(self.encoded.values) - there) / len(self.encoded.values)
        factor = np.ones(self.n) if self.penalty is None else (1 + self.penalty) ** self.lateness
        return {
            "tuples": self.n, "loss": float(self.loss.mean()), "groups": self.groups, "clustered": self.clustered,
            "reused": self.reused, "suppressed": self.suppressed, "late": int((self.lateness > 0).sum()),
            "latest": int(self.lateness.max()), "penalized": float((self.loss * factor).mean()),
            "capped": float(np.minimum(self.loss * factor, 1).mean()),
            "purity": np.histogram(self.purity, BINS, (0, 1))[0].tolist(),
        }  # fmt: skip

    def arrive(self, t: int) -> None:
        """Take in a tuple; those that were held back leave if their partition has k now."""
        self.held[t] = True
        self.parts[self.patterns[t]].append(t)
        waiting = self.late[self.patterns[t]]
        while waiting and self.enough(t):
            first = waiting.pop(0)
            if self.held[first]:
                self.round(first, t)

    def expire(self, t: int, now: int, last: bool = False) -> None:
        """Let a tuple go whose window is over, or hold it back."""
        if self.enough(t):
            self.round(t, now)
        elif (cover := self.cover(t, now)) is not None:
            self.reused += 1
            self.leave(t, cover, now)
        elif last or self.penalty is None:
            self.suppressed += 1
            self.leave(t, 1.0, now)
        else:
            self.late[self.patterns[t]].append(t)

    def enough(self, t: int) -> bool:
        """Whether t can be in a group of k."""
        return len(self.members(t)) >= self.k

    def members(self, t: int) -> list[int]:
        """The held tuples among which t may choose, t included, oldest first."""
        pattern = self.patterns[t]
        self.parts[pattern] = [each for each in self.parts[pattern] if self.held[each]]
        return self.parts[pattern]

    def round(self, t: int, now: int) -> None:
        """Let t go with its nearest, or alone if a published generalization loses less."""
        others = np.array([each for each in self.members(t) if each != t], np.int64)
        nearest = others[np.argsort(self.encoded.distances(t, others, self.weight), kind="stable")[: self.k - 1]]
        group = np.sort(np.append(nearest, t))
        lo, hi, loss = self.encoded.generalized(group)
        cover = self.cover(t, now)
        if cover is not None and cover < self.mean(t, loss):
            self.reused += 1
            self.leave(t, cover, now)
            return
        for member in group:
            self.leave(member, self.mean(member, loss), now)
        self.groups += 1
        self.clustered += len(group)
        self.purity.append(float(self.encoded.there[:, group].mean()))
        self.reuse.entries.append((now, int(self.patterns[t]), lo, hi, loss))
        del self.reuse.entries[:-1000]

    def cover(self, t: int, now: int) -> float | None:
        """The smallest loss of a published generalization that t can reuse."""
        entries = self.reuse.entries
        while entries and now - entries[0][0] >= self.age:
            entries.pop(0)
        return self.reuse.cover(
            self.matrix[t], self.encoded.there[:, t], self.patterns[t] if self.penalty is not None else None
        )

    def mean(self, t: int, loss: Floats) -> float:
        """The loss of a generalization over what t has."""
        own = loss[self.encoded.there[:, t]]
        return sum(own.tolist()) / len(own) if len(own) else 0.0

    def leave(self, t: int, loss: float, now: int) -> None:
        self.held[t] = False
        self.loss[t] = loss
        self.lateness[t] = max(0, now - t - self.window)
