"""The papers' streams: which data, which quasi-identifiers, how much is missing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from shoal.datasets import DataSet, Span, adult, informs, merged, weather

SEED = 0
CITIES = weather.CITIES

_FAST = (
    "age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week", "education", "marital-status",
    "workclass", "native-country",
)  # fmt: skip
_IDEA: Mapping[str, Span] = {
    "age": (0, 100), "education-num": (0, 20), "hours-per-week": (0, 100), "workclass": None, "education": None,
    "marital-status": None, "occupation": None, "relationship": None, "race": None, "sex": None,
}  # fmt: skip


def _adult(data: Path) -> DataSet:
    return adult.dataset(adult.folder(data))


def _adult_of_idea(data: Path) -> DataSet:
    return _adult(data).of(_IDEA)


def _adult_of_fast(data: Path) -> DataSet:
    """A tenth of the rows comes twice, by the same persons."""
    found = _adult(data)
    return found.of({name: found.quasi[name] for name in _FAST}).ordered("a tenth twice", SEED)


def _city(city: str) -> Callable[[Path], DataSet]:
    return lambda data: weather.within(data, city, complete=False)


def _cities(data: Path) -> DataSet:
    """The complete rows of all five, one city after the other."""
    return merged([weather.within(data, city) for city in CITIES], "PM2.5")


SOURCES: Mapping[str, Callable[[Path], DataSet]] = {
    "Adult": _adult, "Adult (IDEA)": _adult_of_idea, "Adult (FAST)": _adult_of_fast, "INFORMS": informs.within,
    "PM2.5": _cities, **{city: _city(city) for city in CITIES},
}  # fmt: skip


@lru_cache(maxsize=4)
def source(data: Path, name: str) -> DataSet:
    return SOURCES[name](data)


@lru_cache(maxsize=4)
def stream(data: Path, name: str, tuples: int | None, missing: int | None, quasi: int | None = None) -> DataSet:
    """The first tuples of a source, if asked for with its first quasi-identifiers, and with up to so many values taken away."""
    found = source(data, name)
    if tuples is not None:
        found = found.head(tuples)
    if quasi is not None:
        found = found.of(dict(list(found.quasi.items())[:quasi]))
    if missing is not None:
        found = found.missing(missing, SEED)
    return replace(found, rows=found.rows.combine_chunks())
