"""With a grid: the ends are rounded outward to its multiples, inside the range; nothing else changes but the loss."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import Anonymizer
from shoal.algorithms import WINDOWED
from shoal.conformance.parameters import generated
from shoal.conformance.promises import check, mean_loss
from shoal.conformance.streams import Stream, engine, policy_of
from tests.examples import examples
from tests.naive import Doubtful, Numeric

RANGES = (Numeric(-3.0, 4.0), Numeric(0.0, 0.7), "deep", Numeric(17.0, 90.0))
GRIDS = st.tuples(
    st.sampled_from([0.1, 0.5, 0.7, 1.0, 2.0, 7.0]), st.sampled_from([0.05, 0.1, 0.3]), st.none(),
    st.sampled_from([None, 0.25, 5.0, 10.0, 73.0]),
)  # fmt: skip


def rounded(end: float, grid: float, domain: Numeric, up: bool) -> float:
    """The multiple of the grid next to an end, by exact arithmetic; the grid is the decimal number it is written as."""
    step = Fraction(str(grid))
    multiple = (math.ceil if up else math.floor)(Fraction(end) / step)
    nearby = [float((multiple + i) * step) for i in (-1, 0, 1)]
    inside = [m for m in nearby if (m >= end if up else m <= end)]
    return min(min(inside), domain.high) if up else max(max(inside), domain.low)


def widened(g: Any, grid: float, domain: Numeric) -> Any:
    if isinstance(g, Doubtful):
        return Doubtful(widened(g.value, grid, domain))
    if len(g) == 3:  # with counts where it is imputed
        return (widened(g[0], grid, domain), *g[1:])
    low, high = g
    return (rounded(low, grid, domain, up=False), rounded(high, grid, domain, up=True))


def on_grid(stream: Stream, shown: tuple[Any, ...]) -> tuple[Any, ...]:
    ends = []
    for domain, grid, g in zip(stream.attributes, stream.grids, shown, strict=True):
        if grid is not None and g is not None and isinstance(domain, Numeric):
            g = widened(g, grid, domain)
        ends.append(g)
    return tuple(ends)


@pytest.mark.slow
@pytest.mark.streams
@pytest.mark.parametrize("name", WINDOWED)
def test_grid(name: str) -> None:
    @examples(0.4)
    @given(generated(name, attributes=RANGES), GRIDS)
    def hold(stream: Stream, grids: tuple[float | None, ...]) -> None:
        plain = engine(Anonymizer(policy_of(name, stream)), stream)
        stream = stream._replace(grids=grids)
        anonymizer = Anonymizer(policy_of(name, stream))
        releases = engine(anonymizer, stream)
        check(stream, releases, name)
        assert releases == [r._replace(generalization=on_grid(stream, r.generalization or ())) for r in plain]
        assert math.isclose(anonymizer.stats.loss, mean_loss(stream, releases), abs_tol=1e-12)

    hold()


@pytest.mark.parametrize(
    ("value", "grid", "shown"),
    [
        (20, 5, [20, 20]), (22, 5, [20, 25]), (17, 5, [17, 20]), (90, 5, [90, 90]), (88, 7, [84, 90]),
        (17.3, 0.1, [17.3, 17.3]), (17.35, 0.1, [17.3, 17.4]), (17, 73, [17, 73]), (80, 73, [73, 90]),
    ],
)  # fmt: skip
def test_grid_by_hand(value: float, grid: float, shown: list[float]) -> None:
    stream = Stream((Numeric(17.0, 90.0),), 1, ("count", 1), {}, (), (), (grid,))
    anonymizer = Anonymizer(policy_of("fads", stream))
    anonymizer.push({"pid": 1, "q0": value})
    assert anonymizer.to_records(anonymizer.flush())[0]["q0"] == shown
    assert anonymizer.stats.loss == (shown[1] - shown[0]) / 73
