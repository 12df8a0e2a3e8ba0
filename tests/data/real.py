"""Real data as streams: UCI Adult, UCI PM2.5 of five cities, INFORMS 2008; read where they lie, never copied."""

from __future__ import annotations

import csv
import gzip
import io
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from shoal.policy import Hierarchy
from tests.naive import Arrival, Categorical, Numeric

ROOT = Path(os.environ.get("SHOAL_DATA") or Path(__file__).parents[2] / ".." / "shared" / "data")
SEED = 2008
CITIES = ("Beijing", "Chengdu", "Guangzhou", "Shanghai", "Shenyang")

Value = str | None


class Real(NamedTuple):
    """A data set: quasi-identifiers as ranges or hierarchies, and its rows, the person first."""

    name: str
    quasi: dict[str, tuple[float, float] | list[list[str]]]
    persons: list[str]
    rows: list[tuple[Value, ...]]

    def policy(self, k: int, window: dict[str, Any], nulls_match: str = "maybe", **algorithm: Any) -> dict[str, Any]:
        attributes = {
            name: {"quasi": "numeric", "range": list(domain), "out_of_range": "clip"}
            if isinstance(domain, tuple)
            else {"quasi": "categorical", "hierarchy": Hierarchy.of(domain)}
            for name, domain in self.quasi.items()
        }
        return {
            "person": "pid", "attributes": attributes, "privacy": {"k": k, "nulls_match": nulls_match}, "window": window,
            "algorithm": algorithm,
        }  # fmt: skip

    def head(self, size: int) -> Real:
        return self._replace(persons=self.persons[:size], rows=self.rows[:size])

    def write(self, path: Path) -> None:
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["pid", *self.quasi])
            for person, row in zip(self.persons, self.rows, strict=True):
                writer.writerow([person, *("" if value is None else value for value in row)])

    def value(self, column: int, text: Value) -> Any:
        """What the engine is to see: a number inside the range, or a label."""
        domain = list(self.quasi.values())[column]
        if text is None or not isinstance(domain, tuple):
            return text
        return min(max(float(text), domain[0]), domain[1])

    def arrivals(self) -> list[Arrival]:
        """The rows as the naive twins take them."""
        return [
            Arrival(person, tuple(self.value(q, text) for q, text in enumerate(row)), float(i))
            for i, (person, row) in enumerate(zip(self.persons, self.rows, strict=True))
        ]

    def domains(self) -> list[Numeric | Categorical]:
        return [
            Numeric(*domain) if isinstance(domain, tuple) else Remembered({line[0]: tuple(line) for line in domain})
            for domain in self.quasi.values()
        ]


class Remembered(Categorical):
    """A naive hierarchy that computes nothing twice."""

    def __init__(self, paths: dict[str, tuple[str, ...]]) -> None:
        super().__init__(paths)
        object.__setattr__(self, "loss", cache(super().loss))
        object.__setattr__(self, "distance", cache(super().distance))


@cache
def adult(most: int | None) -> Real:
    """All columns but income; rows with `?` are left out first."""
    numeric = {
        "age": (17.0, 90.0), "fnlwgt": (13769.0, 1484705.0), "education-num": (1.0, 16.0),
        "capital-gain": (0.0, 99999.0), "capital-loss": (0.0, 4356.0), "hours-per-week": (1.0, 99.0),
    }  # fmt: skip
    names = (
        "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
        "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    )  # fmt: skip
    quasi = {name: numeric.get(name) or _lines("adult", name) for name in names}
    texts = [*_text("adult/adult.data").splitlines(), *_text("adult/adult.test").splitlines()[1:]]
    rows = [[None if value == "?" else value for value in line.split(", ")[:-1]] for line in texts if line]
    return _with_losses(Real(f"adult {most}", quasi, [], list(map(tuple, rows))), most)


@cache
def pm25(city: str, most: int | None) -> Real:
    """The first three posts of a city in the order of its file; `NA` is missing."""
    table = list(csv.DictReader(io.StringIO(_text(f"pm25/{city}PM20100101_20151231.csv"))))
    posts = [name for name in table[0] if name.startswith("PM_")][:3]
    quasi: dict[str, Any] = {
        "season": _lines("pm25", "season"), "cbwd": _lines("pm25", "cbwd"),
        **dict(zip(posts, ((1.0, 1528.0), (1.0, 940.0), (1.0, 968.0)), strict=True)),
        "DEWP": (-40.0, 28.0), "TEMP": (-25.0, 41.0), "HUMI": (2.0, 100.0), "PRES": (975.0, 1042.0),
        "Iws": (0.0, 608.0), "precipitation": (0.0, 61.6), "Iprec": (0.0, 226.4),
    }  # fmt: skip
    rows = [tuple(None if row[name] in ("NA", "") else row[name] for name in quasi) for row in table]
    return _with_losses(Real(f"pm25 {city} {most}", quasi, [], rows), most)


@cache
def informs(most: int | None) -> Real:
    """The demographics of 2005; negative codes are missing."""
    table = list(csv.DictReader(io.StringIO(_text("informs/demographics05test.csv"))))
    quasi: dict[str, Any] = {
        "DOBMM": (1.0, 12.0), "DOBYY": (1920.0, 2005.0),
        **{name: _lines("informs", name) for name in ("SEX", "RACEX", "EDUCYEAR", "marry")},
        "income": (0.0, 210722.0),
    }  # fmt: skip
    rows = [tuple(_unless_negative(row[name]) for name in quasi) for row in table]
    return _with_losses(Real(f"informs {most}", quasi, [row["DUPERSID"] for row in table], rows), most)


STREAMS: dict[str, Callable[[], Real]] = {
    "adult, up to 7 missing": lambda: adult(7),
    "pm25 Beijing, up to 7 missing": lambda: pm25("Beijing", 7),
    "pm25 Shenyang, as it is": lambda: pm25("Shenyang", None),
    "informs, up to 7 missing": lambda: informs(7),
}


def _with_losses(real: Real, most: int | None) -> Real:
    """Each tuple loses 0 to `most` values, each number equally often, any of them equally likely; None: as it is.

    Rows that miss something already are left out first. Where no persons are given, each row is one.
    """
    persons = real.persons or [str(i) for i in range(len(real.rows))]
    if most is None:
        return real._replace(persons=persons)
    whole = [i for i, row in enumerate(real.rows) if None not in row]
    random = np.random.default_rng(SEED)
    number = random.permutation(np.arange(len(whole)) % (most + 1))
    rank = random.random((len(whole), len(real.quasi))).argsort(axis=1).argsort(axis=1)
    lost = rank < number[:, None]
    rows = [
        tuple(None if gone else value for value, gone in zip(real.rows[i], mask, strict=True))
        for i, mask in zip(whole, lost.tolist(), strict=True)
    ]
    return real._replace(persons=[persons[i] for i in whole], rows=rows)


def _unless_negative(code: str) -> Value:
    return None if code.strip() in ("", "NA") or float(code) < 0 else code


def _lines(folder: str, name: str) -> list[list[str]]:
    return [line.split(";") for line in _text(f"{folder}/hierarchies/{name}.csv").splitlines() if line]


def _text(name: str) -> str:
    """A file of the data, plain or compressed; a test that needs an absent one is skipped."""
    for path in _places(name):
        if path.exists():
            return (gzip.open(path, "rt") if path.suffix == ".gz" else path.open()).read()
    pytest.skip(
        f"{name} is absent: download UCI Adult, UCI PM2.5 of five Chinese cities and the 2005 tables of the INFORMS "
        "2008 contest into adult/, pm25/ and informs/ of one folder, and set SHOAL_DATA to that folder"
    )


def _places(name: str) -> Iterator[Path]:
    yield ROOT / name
    yield ROOT / f"{name}.gz"
