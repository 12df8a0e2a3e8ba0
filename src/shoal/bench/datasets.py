"""The data sets on which losses are compared: UCI Adult, INFORMS 2008, UCI PM2.5 of five Chinese cities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from shoal.bench import adult
from shoal.bench.settings import Contender
from shoal.errors import InputError
from shoal.policy import Policy

Span = tuple[float, float] | None  # a numeric range; None: a hierarchy in hierarchies/NAME.csv

CITIES = ("Beijing", "Chengdu", "Guangzhou", "Shanghai", "Shenyang")
_WEATHER: Mapping[str, Span] = {
    "DEWP": (-40, 28), "TEMP": (-25, 41), "HUMI": (2, 100), "PRES": (975, 1042), "Iws": (0, 608),
    "precipitation": (0, 61.6), "Iprec": (0, 226.4),
}  # fmt: skip
_POSTS: tuple[Span, ...] = ((1, 1528), (1, 940), (1, 968))
_INFORMS: Mapping[str, Span] = {
    "DOBMM": (1, 12), "DOBYY": (1920, 2005), "SEX": None, "RACEX": None, "EDUCYEAR": None, "marry": None,
    "income": (0, 210_722),
}  # fmt: skip
_PERSON = "DUPERSID"


@dataclass(frozen=True)
class DataSet:
    """Rows that miss nothing but what was taken from them; `pid` is the person."""

    name: str
    family: str
    folder: Path
    quasi: Mapping[str, Span]
    rows: pa.Table

    @property
    def misses(self) -> bool:
        """Whether values are missing."""
        return any(self.rows.column(name).null_count for name in self.quasi)

    def policy(
        self, contender: Contender, k: int, window: Mapping[str, int], nulls_match: str = "maybe", stretch: int = 1
    ) -> Policy:
        attributes: dict[str, Any] = {
            name: {"quasi": "numeric", "range": list(span), "out_of_range": "clip"}
            if span
            else {"quasi": "categorical", "hierarchy": f"hierarchies/{name}.csv"}
            for name, span in self.quasi.items()
        }
        written = {
            "person": "pid", "attributes": attributes, "privacy": {"k": k, "nulls_match": nulls_match},
            "window": dict(window), "sparse": {"stretch": stretch},
            "algorithm": {"name": contender.name, **contender.parameters},
        }  # fmt: skip
        if "time" in window:
            written["time"] = {"field": "ts"}
        return Policy.parse(written, self.folder)

    def head(self, tuples: int) -> DataSet:
        return replace(self, rows=self.rows.slice(0, tuples))

    def missing(self, most: int, seed: int) -> DataSet:
        """Each tuple loses 0 to `most` values, the numbers equally often, which ones by chance."""
        lost = adult.losses(self.rows.num_rows, len(self.quasi), most, np.random.default_rng(seed))
        columns = {
            name: pc.if_else(pa.array(lost[q]), None, self.rows.column(name)) for q, name in enumerate(self.quasi)
        }
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


ORDERS = ("as it comes", "shuffled", "sorted", "a tenth twice", "four times each")


def datasets(data: Path, seed: int) -> Iterator[DataSet]:
    """Those data sets that lie in the folder."""
    people = _adult(data / "adult")
    yield from (people.missing(most, seed) for most in (0, 3, 7))
    if source := _source(data / "informs" / "demographics05test.csv"):
        yield _informs(source).missing(2, seed)
    for city in CITIES:
        if source := _source(data / "pm25" / f"{city}PM20100101_20151231.csv"):
            yield _weather(source, city)


def _source(path: Path) -> Path | None:
    return next((place for place in (path, path.with_name(f"{path.name}.gz")) if place.is_file()), None)


def _adult(folder: Path) -> DataSet:
    rows = adult.Adult(folder).rows.select(list(adult.QUASI))
    return DataSet("Adult", "Adult", folder, adult.QUASI, _with_persons(rows))


def _informs(source: Path) -> DataSet:
    table = _read(source, {_PERSON: pa.string(), **dict.fromkeys(_INFORMS, pa.float64())}, [])
    for name in _INFORMS:
        table = table.filter(pc.greater_equal(table.column(name), 0))  # negative codes are missing
    return DataSet("INFORMS", "INFORMS", source.parent, _INFORMS, table.rename_columns(["pid", *_INFORMS]))


def _weather(source: Path, city: str) -> DataSet:
    with pa.input_stream(source, compression="detect") as stream:
        names = stream.read(4096).split(b"\n")[0].decode().replace('"', "").strip().split(",")
    posts = [name for name in names if name.startswith("PM_")][: len(_POSTS)]
    quasi = {"season": None, "cbwd": None, **dict(zip(posts, _POSTS, strict=True)), **_WEATHER}
    types = {name: pa.float64() if span else pa.string() for name, span in quasi.items()}
    return DataSet(f"PM2.5 {city}", "PM2.5", source.parent, quasi, _with_persons(_read(source, types, ["NA", ""])))


def _read(source: Path, types: Mapping[str, pa.DataType], nulls: list[str]) -> pa.Table:
    """The named columns of a CSV file; rows that miss one are left out."""
    options = pyarrow.csv.ConvertOptions(
        column_types=types, include_columns=list(types), null_values=nulls, strings_can_be_null=True
    )
    try:
        return pyarrow.csv.read_csv(source, convert_options=options).drop_null()
    except (pa.ArrowException, OSError):
        raise InputError(f"{source}: cannot be read; download it again") from None


def _with_persons(rows: pa.Table) -> pa.Table:
    """Each row is a person."""
    return rows.add_column(0, "pid", pa.array(np.arange(rows.num_rows)))
