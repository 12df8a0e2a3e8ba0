"""What algorithms are compared on: rows, and what a policy says about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.config import read_yaml
from shoal.datasets import ORDERS, RETURNING, SENSITIVE, DataSet, adult, informs, weather
from shoal.demo import policy_text, wearables
from shoal.errors import InputError
from shoal.formats import open_reader
from shoal.policy import Policy
from shoal.provenance import digests

_MISSING = "-"


@dataclass(frozen=True)
class Subject:
    """Rows, and the policy without its k, window, reading of nulls and algorithm."""

    name: str
    document: Mapping[str, Any]
    folder: Path | None
    rows: pa.Table
    label: str | None  # the column that a model learns
    digests: Mapping[str, str]  # of its files
    data: DataSet | None = None  # whose rows can be put into other orders
    most: int = 0  # values that are taken from a tuple at most
    draw: Callable[[int, int], pa.Table] | None = None  # generates so many rows with a seed

    def policy(self, k: int, length: float, nulls: str, algorithm: Mapping[str, Any]) -> Policy:
        """The whole policy; the window counts what the document's own window counts, or arrivals."""
        kind = next(iter(self.document.get("window", {"count": 0})))
        privacy = {**self.document.get("privacy", {}), "k": k, "nulls_match": nulls}
        own = {"privacy": privacy, "window": {kind: length}, "algorithm": dict(algorithm)}
        return Policy.parse({**self.document, **own}, self.folder)

    @property
    def is_timed(self) -> bool:
        """Whether its windows count seconds."""
        return "time" in self.document.get("window", {})

    def orders(self) -> Sequence[str]:
        """The orders that its rows can be put in; rows with a time of their own stay as they are."""
        if self.data is not None:
            return ORDERS
        return ORDERS[:1] if self.document.get("time") else ORDERS[:2]

    def repetition(self, seed: int, order: str, tuples: int) -> pa.Table:
        """Consecutive rows from a place drawn with the seed; values are taken away, and rows ordered, with the same seed.

        Seed 0 starts at the first row. A stream that is generated is generated with the seed.
        """
        if order not in self.orders():
            raise InputError(f"{self.name}: cannot be ordered as {order!r}; possible are {', '.join(self.orders())}")
        if self.draw is not None:
            return self.draw(tuples, seed)
        draw = np.random.default_rng([seed, 1])
        first = int(draw.integers(0, max(0, self.rows.num_rows - tuples) + 1)) if seed else 0
        rows = self.rows.slice(first, tuples)
        if self.data is None:
            return (rows.take(draw.permutation(rows.num_rows)) if order == ORDERS[1] else rows).combine_chunks()
        data = replace(self.data, rows=rows)
        data = data.missing(self.most, seed) if self.most else data
        return data.ordered(order, seed).rows.combine_chunks()


def subjects(names: Sequence[str], data: Path) -> list[Subject]:
    """The data sets of these names; `NAME-3` takes up to three values from each tuple."""
    found = []
    for full in dict.fromkeys(names):
        name, _, most = full.partition(_MISSING)
        if name not in DATA or (most and not most.isdecimal()) or (name == _GENERATED and most):
            raise InputError(
                f"data {full!r} is none; known are {', '.join(DATA)}, each but {_GENERATED} also with a number of values that "
                "are taken away at most, such as adult-3; for your own name a policy and a file"
            )
        found.append(replace(DATA[name](data), name=full, most=int(most or 0)))
    return found


def of_policy(policy: str, source: str) -> Subject:
    """The rows of a file, under a policy; its first sensitive attribute is the label."""
    parsed = Policy.load(policy)
    if parsed.is_filter:
        raise InputError(f"{policy}: {parsed.algorithm.name} holds no window; there is nothing to compare it with")
    with open_reader(source, parsed.fields, dialect=parsed.input.dialect) as reader:
        blocks = [block.batch for block in reader]
    rows = pa.Table.from_batches(blocks) if blocks else pa.table({})
    if not rows.num_rows:
        raise InputError(f"{source}: has no row; name a file with rows")
    label = next((name for name, attribute in parsed.attributes.items() if attribute.sensitive), None)
    document = read_yaml(Path(policy).read_text(encoding="utf-8-sig"))
    return Subject(Path(source).name, document, Path(policy).parent, rows, label, digests([Path(policy), Path(source)]))


def generated(data: Path) -> Subject:
    """The stream of `shoal demo`, which is the same everywhere."""
    document = read_yaml(policy_text())
    document |= {"window": {"count": 0}, "time": {"field": "ts", "publish": "drop"}}
    document.pop("algorithm")
    return Subject(_GENERATED, document, None, _generate(0, 0), "illness", {}, draw=_generate)


def _generate(tuples: int, seed: int) -> pa.Table:
    batches = list(wearables(tuples, seed))
    return pa.Table.from_batches(batches).combine_chunks() if batches else pa.table({})


def _of(name: str, found: DataSet, *sources: Path) -> Subject:
    trees = [found.folder / "hierarchies" / f"{each}.csv" for each, span in found.quasi.items() if span is None]
    return Subject(name, found.document(), found.folder, found.rows, found.label, digests([*sources, *trees]), found)


def _adult(data: Path) -> Subject:
    home = adult.folder(data)
    return _of("adult", adult.dataset(home, SENSITIVE), adult.source(home))


def _informs(data: Path) -> Subject:
    return _of("informs", informs.within(data), informs.PLACE.within(data))


def _city(city: str, data: Path) -> Subject:
    return _of(city.lower(), weather.within(data, city, complete=False), weather.place(city).within(data))


def _returning(name: str, data: Path) -> Subject:
    read, places = RETURNING[name]
    return _of(name, read(data), *(place.within(data) for place in places))


_GENERATED = "wearables"
DATA: Mapping[str, Callable[[Path], Subject]] = {
    _GENERATED: generated, "adult": _adult, "informs": _informs,
    **{city.lower(): partial(_city, city) for city in weather.CITIES},
    **{name: partial(_returning, name) for name in RETURNING},
}  # fmt: skip
