"""UCI PM2.5 of five Chinese cities, hour by hour."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from shoal.datasets.dataset import DataSet, Span, with_persons
from shoal.datasets.source import Place, check_hierarchies, read

CITIES = ("Beijing", "Chengdu", "Guangzhou", "Shanghai", "Shenyang")
_POSTS: tuple[Span, ...] = ((1, 1528), (1, 940), (1, 968))
_MEASURES: Mapping[str, Span] = {
    "DEWP": (-40, 28), "TEMP": (-25, 41), "HUMI": (2, 100), "PRES": (975, 1042), "Iws": (0, 608),
    "precipitation": (0, 61.6), "Iprec": (0, 226.4),
}  # fmt: skip
_PAGE = "https://archive.ics.uci.edu/dataset/394/pm2+5+data+of+five+chinese+cities"


def place(city: str) -> Place:
    return Place(f"pm25/{city}PM20100101_20151231.csv", _PAGE)


def dataset(source: Path, city: str, *, complete: bool = True) -> DataSet:
    """The first three posts in the order of the file; rows that miss nothing, or all as they are."""
    with pa.input_stream(source, compression="detect") as stream:
        names = stream.read(4096).split(b"\n")[0].decode().replace('"', "").strip().split(",")
    posts = [name for name in names if name.startswith("PM_")][: len(_POSTS)]
    quasi = {"season": None, "cbwd": None, **dict(zip(posts, _POSTS, strict=True)), **_MEASURES}
    types = {name: pa.float64() if span else pa.string() for name, span in quasi.items()}
    rows = read(source, types, ["NA", ""])
    return DataSet(f"PM2.5 {city}", "PM2.5", source.parent, quasi, with_persons(rows.drop_null() if complete else rows))


def within(data: Path, city: str, *, complete: bool = True) -> DataSet:
    source = place(city).within(data)
    check_hierarchies(source.parent, ["season", "cbwd"])
    return dataset(source, city, complete=complete)
