"""The data sets on which losses are compared: UCI Adult, INFORMS 2008, UCI PM2.5 of five Chinese cities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shoal.datasets import DataSet, adult, found, informs, weather


def datasets(data: Path, seed: int) -> Iterator[DataSet]:
    """Those data sets that lie in the folder."""
    people = adult.dataset(data / "adult")
    yield from (people.missing(most, seed) for most in (0, 3, 7))
    if source := found(data / informs.PLACE.path):
        yield informs.dataset(source).missing(2, seed)
    for city in weather.CITIES:
        if source := found(data / weather.place(city).path):
            yield weather.dataset(source, city)
