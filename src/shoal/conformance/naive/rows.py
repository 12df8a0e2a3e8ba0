from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple


class Arrival(NamedTuple):
    person: Hashable
    values: tuple
    time: float | None = None
    sensitive: tuple = ()


class Tick(NamedTuple):
    now: float


class Release(NamedTuple):
    row: int
    how: str
    cluster: int | None
    generalization: tuple | None
    arrived: float
    released: float
    moment: tuple[float, float] | None = None  # the time that is shown, where one is
    sensitive: tuple = ()  # as it is published


class Row(NamedTuple):
    number: int
    time: float  # when it came, on the window's clock
    person: Hashable
    values: tuple
    sensitive: tuple = ()
    moment: float | None = None  # its own time


def valid(values: Sequence[Any]) -> tuple[int, ...]:
    return tuple(q for q, value in enumerate(values) if value is not None)


def persons(rows: Iterable[Row]) -> int:
    return len({row.person for row in rows})


def by_arrival(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.number)


def nearest(t: Row, rows: Iterable[Row], m: int, dist: Callable[[Row, Row], float]) -> list[Row]:
    found: list[Row] = []
    for u in sorted(rows, key=lambda u: (dist(t, u), u.number)):
        if len(found) < m and u.person != t.person and u.person not in {v.person for v in found}:
            found.append(u)
    return found


def jaccard(q1: Sequence[int], q2: Sequence[int]) -> float:
    union = set(q1) | set(q2)
    return len(set(q1) & set(q2)) / len(union) if union else 1.0


def partitions(rows: Iterable[Row]) -> list[list[Row]]:
    found: dict[tuple[int, ...], list[Row]] = {}
    for row in by_arrival(rows):
        found.setdefault(valid(row.values), []).append(row)
    return list(found.values())
