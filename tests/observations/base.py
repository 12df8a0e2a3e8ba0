"""Streams of observations, and the filter over them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from naive.zanon import Observation
from shoal import Anonymizer, Policy

SECRET = "sixteen bytes or more"
TREE = {"any": {"news": {"bbc": ["news.bbc", "sport.bbc"], "press": ["lemonde"]}, "shops": ["amazon"]}}
LEAVES = ("news.bbc", "sport.bbc", "lemonde", "amazon")


class Decided(NamedTuple):
    """What became of an observation that was published."""

    row: int
    time: float
    user: str
    item: Any


def policy(z: Any = 2, window: Any = 5, *, tree: Any = None, **parameters: Any) -> Policy:
    item = {"field": "site", **({"hierarchy": tree} if tree else {})}
    algorithm = {"name": "zanon", "z": z, "window": window, **parameters}
    return Policy.parse({"person": "user", "time": {"field": "t"}, "item": item, "algorithm": algorithm})


def batch(observations: Sequence[Observation]) -> pa.RecordBatch:
    time, user, item = ([o[i] for o in observations] for i in range(3))
    return pa.RecordBatch.from_pydict({"t": pa.array(time, pa.float64()), "user": pa.array(user), "site": pa.array(item)})


def decided(anonymizer: Anonymizer, published: pa.RecordBatch) -> list[Decided]:
    rows = anonymizer.trace.column("row").to_pylist()
    columns = [published.column(name).to_pylist() for name in ("t", "user", "site")]
    return [Decided(*each) for each in zip(rows, *columns, strict=True)]


def pushed(anonymizer: Anonymizer, observations: Sequence[Observation], cuts: Iterable[int] = ()) -> list[Decided]:
    """The stream, cut into batches at these places."""
    edges = sorted({0, len(observations), *(cut for cut in cuts if 0 < cut < len(observations))})
    found = []
    for first, last in pairwise(edges):
        found += decided(anonymizer, anonymizer.push_batch(batch(observations[first:last])))
    return found
