"""A table with quasi-identifiers, and the streams that are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.policy import Policy

Span = tuple[float, float] | None  # a numeric range; None: a hierarchy in hierarchies/NAME.csv

ORDERS = ("as it comes", "shuffled", "sorted", "a tenth twice", "four times each")


@dataclass(frozen=True)
class DataSet:
    """Rows in the order of their file; `pid` is the person."""

    name: str
    family: str  # under which figures of several such sets are put together
    folder: Path  # that holds `hierarchies`
    quasi: Mapping[str, Span]
    rows: pa.Table

    @property
    def misses(self) -> bool:
        """Whether values are missing."""
        return any(self.rows.column(name).null_count for name in self.quasi)

    def policy(
        self,
        algorithm: Mapping[str, Any],
        k: int,
        window: Mapping[str, int],
        *,
        nulls_match: str = "maybe",
        sections: Mapping[str, Any] | None = None,
    ) -> Policy:
        """A policy under which these rows can be anonymized; `sections` are further ones."""
        attributes: dict[str, Any] = {
            name: {"quasi": "numeric", "range": list(span), "out_of_range": "clip"}
            if span
            else {"quasi": "categorical", "hierarchy": f"hierarchies/{name}.csv"}
            for name, span in self.quasi.items()
        }
        written = {
            "person": "pid", "attributes": attributes, "privacy": {"k": k, "nulls_match": nulls_match},
            "window": dict(window), "algorithm": dict(algorithm), **(sections or {}),
        }  # fmt: skip
        return Policy.parse(written, self.folder)

    def head(self, tuples: int) -> DataSet:
        """The first rows."""
        return replace(self, rows=self.rows.slice(0, tuples))

    def of(self, quasi: Mapping[str, Span]) -> DataSet:
        """The same rows with other quasi-identifiers, or other ranges."""
        return replace(self, quasi=quasi, rows=self.rows.select(["pid", *quasi]))

    def missing(self, most: int, seed: int) -> DataSet:
        """Each tuple loses 0 to `most` values, the numbers equally often, which ones by chance."""
        lost = losses(self.rows.num_rows, len(self.quasi), most, np.random.default_rng(seed))
        columns = {name: pc.if_else(pa.array(lost[q]), None, self.rows.column(name)) for q, name in enumerate(self.quasi)}
        return replace(self, name=f"{self.name} {most}", rows=pa.table({"pid": self.rows.column("pid"), **columns}))

    def ordered(self, order: str, seed: int) -> DataSet:
        """The rows in another order, or with persons who come back; see `ORDERS`."""
        random, rows = np.random.default_rng(seed), self.rows.num_rows
        table = self.rows
        if order == "shuffled":
            table = table.take(random.permutation(rows))
        elif order == "sorted":
            table = table.sort_by(next(name for name, span in self.quasi.items() if span))
        elif order == "a tenth twice":
            again = random.choice(rows, rows // 10, replace=False)
            places = np.concatenate([np.arange(rows), again + random.integers(1, rows, len(again))])
            table = table.take(np.concatenate([np.arange(rows), again])[np.argsort(places, kind="stable")])
        elif order == "four times each":
            table = table.set_column(0, "pid", pa.array(random.permutation(np.arange(rows) // 4)))
        return replace(self, rows=table)


def losses(tuples: int, quasi: int, most: int, random: np.random.Generator) -> NDArray[np.bool_]:
    """Which quasi-identifiers, a row each, each tuple loses: 0 to `most` equally often, which ones by chance."""
    count = random.permutation(np.arange(tuples, dtype=np.int64) % (most + 1))
    every = np.arange(tuples)
    order = np.tile(np.arange(quasi, dtype=np.uint8), (tuples, 1))
    lost = np.zeros((quasi, tuples), bool)
    for turn in range(most):
        swapped = random.integers(turn, quasi, tuples)
        drawn = order[every, swapped]
        order[every, swapped] = order[:, turn]
        unlucky = count > turn
        lost[drawn[unlucky], every[unlucky]] = True
    return lost


def merged(sets: Sequence[DataSet], name: str) -> DataSet:
    """One data set after the other, columns by their place, each row a person of its own; names are those of the first."""
    first = sets[0]
    rows = pa.concat_tables([each.rows.rename_columns(first.rows.schema.names) for each in sets])
    return replace(first, name=name, rows=rows.set_column(0, "pid", pa.array(np.arange(rows.num_rows))))


def with_persons(rows: pa.Table) -> pa.Table:
    """Each row is a person."""
    return rows.add_column(0, "pid", pa.array(np.arange(rows.num_rows)))
