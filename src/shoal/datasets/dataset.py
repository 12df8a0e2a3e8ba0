"""A table with quasi-identifiers, its file, and the streams that are made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from shoal.errors import InputError
from shoal.policy import Policy

Span = tuple[float, float] | None  # a numeric range; None: a hierarchy in hierarchies/NAME.csv

ORDERS = ("as it comes", "shuffled", "sorted", "a tenth twice", "four times each")


@dataclass(frozen=True)
class DataSet:
    """Rows in the order of their file; `pid` is the person."""

    name: str
    family: str  # sets of one family share their figures
    folder: Path  # that holds `hierarchies`
    quasi: Mapping[str, Span]
    rows: pa.Table
    label: str | None = None  # a column that is no quasi-identifier, and that a model can learn

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
        one_in_k: bool = False,
        generalize: str = "node",
        sections: Mapping[str, Any] | None = None,
    ) -> Policy:
        """A policy under which these rows can be anonymized, in the papers' reading; `sections` are further ones."""
        privacy = {"k": k, "nulls_match": nulls_match, "one_in_k": one_in_k}
        own = {"privacy": privacy, "window": dict(window), "algorithm": dict(algorithm)}
        return Policy.parse({**self.document(generalize), **own, **(sections or {})}, self.folder)

    def document(self, generalize: str = "node") -> dict[str, Any]:
        """What a policy of these rows says about them: the person and the quasi-identifiers, and the label, if there is one."""
        attributes: dict[str, Any] = {
            name: {"quasi": "numeric", "range": list(span), "out_of_range": "clip"}
            if span
            else {"quasi": "categorical", "hierarchy": f"hierarchies/{name}.csv", "generalize": generalize}
            for name, span in self.quasi.items()
        }
        labels = {self.label: {"sensitive": True}} if self.label else {}
        return {"person": "pid", "attributes": {**attributes, **labels}}

    def head(self, tuples: int) -> DataSet:
        """The first rows."""
        return replace(self, rows=self.rows.slice(0, tuples))

    def of(self, quasi: Mapping[str, Span]) -> DataSet:
        """The same rows with other quasi-identifiers, or other ranges."""
        return replace(self, quasi=quasi, rows=self.rows.select(["pid", *quasi]), label=None)

    def missing(self, most: int, seed: int) -> DataSet:
        """Each tuple loses 0 to `most` values, the numbers equally often, chosen at random."""
        lost = losses(self.rows.num_rows, len(self.quasi), most, np.random.default_rng(seed))
        columns = {name: pc.if_else(pa.array(lost[q]), None, self.rows.column(name)) for q, name in enumerate(self.quasi)}
        kept = {self.label: self.rows.column(self.label)} if self.label else {}
        return replace(self, name=f"{self.name} {most}", rows=pa.table({"pid": self.rows.column("pid"), **columns, **kept}))

    def ordered(self, order: str, seed: int) -> DataSet:
        """The rows in another order, or with persons who occur again; see `ORDERS`."""
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
    """Which quasi-identifiers each tuple loses, one row per quasi-identifier: 0 to `most` equally often, chosen at random."""
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
    """One data set after the other, columns by their place, each row as a person of its own; names are those of the first."""
    first = sets[0]
    rows = pa.concat_tables([each.rows.rename_columns(first.rows.schema.names) for each in sets])
    return replace(first, name=name, rows=rows.set_column(0, "pid", pa.array(np.arange(rows.num_rows))))


def with_persons(rows: pa.Table) -> pa.Table:
    """Each row is a person."""
    return rows.add_column(0, "pid", pa.array(np.arange(rows.num_rows)))


class Place(NamedTuple):
    """A file under the data folder, and the page it can be downloaded from."""

    path: str
    page: str

    def within(self, data: Path) -> Path:
        """The file, or the same gzipped."""
        source = found(data / self.path)
        if source is None:
            raise InputError(f"{data / self.path}: is not there; download it from {self.page} and run `shoal datasets prepare`")
        return source


def found(path: Path) -> Path | None:
    """The file, or the same gzipped."""
    return next((place for place in (path, path.with_name(f"{path.name}.gz")) if place.is_file()), None)


def check_hierarchies(home: Path, names: Sequence[str]) -> None:
    """Raise if a hierarchy of these names is not there."""
    for name in names:
        place = home / "hierarchies" / f"{name}.csv"
        if not place.is_file():
            raise InputError(f"{place}: is not there; `shoal datasets prepare` writes it")


def read(source: Path, types: Mapping[str, pa.DataType], nulls: Sequence[str]) -> pa.Table:
    """The columns of a CSV file that have a type."""
    options = pyarrow.csv.ConvertOptions(
        column_types=types, include_columns=list(types), null_values=list(nulls), strings_can_be_null=True
    )
    try:
        return pyarrow.csv.read_csv(source, convert_options=options)
    except (pa.ArrowException, OSError):
        raise InputError(f"{source}: cannot be read; download it again") from None
