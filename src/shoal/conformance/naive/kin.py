"""The group around a tuple for which little must be blanked."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shoal.conformance.naive.rows import Row, by_arrival, nearest, persons, valid

Quasi = tuple[int, ...]


def gather(
    t: Row,
    rows: Iterable[Row],
    k: int,
    distance_under: Callable[[Quasi, Row, Row], float],
    loss: Callable[[list[Row]], float],
) -> list[Row]:
    others = [u for u in by_arrival(rows) if u.person != t.person]
    best: list[Row] | None = None
    wanted: Quasi | None = valid(t.values)
    while wanted is not None:
        having = [u for u in others if not lacks(u, wanted)]
        if persons(having) >= k - 1:
            found = by_arrival([t, *nearest_under(wanted, t, having, k - 1, distance_under)])
            if best is None or loss(found) < loss(best):
                best = found
        wanted = without_one(wanted, others)
    assert best is not None, "there are fewer than k persons"
    return best


def nearest_under(
    wanted: Quasi, t: Row, rows: list[Row], m: int, distance_under: Callable[[Quasi, Row, Row], float]
) -> list[Row]:
    return nearest(t, rows, m, lambda t, u: distance_under(wanted, t, u))


def lacks(u: Row, wanted: Quasi) -> Quasi:
    return tuple(q for q in wanted if u.values[q] is None)


def without_one(wanted: Quasi, others: list[Row]) -> Quasi | None:
    """What is wanted less the one that stands in the way of most; None if nothing does."""
    missing = [lacks(u, wanted) for u in others if lacks(u, wanted)]
    if not missing:
        return None
    single = [lacking for lacking in missing if len(lacking) == 1]
    counted = single or missing
    dropped = max(wanted, key=lambda q: (sum(1 for lacking in counted if q in lacking), -q))
    return tuple(q for q in wanted if q != dropped)
