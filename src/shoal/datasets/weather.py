"""UCI PM2.5 of five Chinese cities, hour by hour."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from shoal.datasets.dataset import DataSet, Place, Span, check_hierarchies, read, with_persons
from shoal.errors import InputError

CITIES = ("Beijing", "Chengdu", "Guangzhou", "Shanghai", "Shenyang")
_POSTS: tuple[Span, ...] = ((1, 1528), (1, 940), (1, 968))
_MEASURES: Mapping[str, Span] = {
    "DEWP": (-40, 28), "TEMP": (-25, 41), "HUMI": (2, 100), "PRES": (975, 1042), "Iws": (0, 608),
    "precipitation": (0, 61.6), "Iprec": (0, 226.4),
}  # fmt: skip
_PAGE = "https://archive.ics.uci.edu/dataset/394/pm2+5+data+of+five+chinese+cities"


def place(city: str) -> Place:
    """Where the file of a city lies."""
    return Place(f"pm25/{city}PM20100101_20151231.csv", _PAGE)


def dataset(source: Path, city: str, *, complete: bool = True) -> DataSet:
    """The first three posts in the order of the file; rows that miss nothing, or all as they are."""
    quasi = {"season": None, "cbwd": None, **dict(zip(_posts(source), _POSTS, strict=True)), **_MEASURES}
    types = {name: pa.float64() if span else pa.string() for name, span in quasi.items()}
    rows = read(source, types, ["NA", ""])
    return DataSet(f"PM2.5 {city}", "PM2.5", source.parent, quasi, with_persons(rows.drop_null() if complete else rows))


def _posts(source: Path) -> list[str]:
    """The names of the first posts, which every city has its own of."""
    try:
        with pa.input_stream(source, compression="detect") as stream:
            names = stream.read(4096).split(b"\n")[0].decode().replace('"', "").strip().split(",")
    except (pa.ArrowException, OSError, UnicodeDecodeError):
        names = []
    posts = [name for name in names if name.startswith("PM_")][: len(_POSTS)]
    if len(posts) < len(_POSTS):
        raise InputError(f"{source}: does not name {len(_POSTS)} posts in its first line; download it again")
    return posts


def within(data: Path, city: str, *, complete: bool = True) -> DataSet:
    """The same, from the folder of all data."""
    source = place(city).within(data)
    check_hierarchies(source.parent, ["season", "cbwd"])
    return dataset(source, city, complete=complete)
