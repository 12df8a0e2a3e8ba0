"""Places by cells of latitude and longitude: 48.85,2.35 lies in the cell of a degree from 48,2 to 49,3."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_FLOOR, Decimal
from typing import Any, ClassVar

from shoal.errors import PolicyError
from shoal.hierarchies.rule import Rule, Unfit, few, listed, number, sizes, step, written_out


class Cells(Rule):
    """A place is written as latitude, comma, longitude, in degrees; a cell by its south-west and north-east corners.

    >>> Cells({"levels": [0.5, 1]}).above("48.85,2.35")
    ['48.5,2..49,2.5', '48,2..49,3']
    """

    NAME = "cells"
    KEYS: ClassVar = {
        "levels": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        "range": {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4},
        "step": {"type": "number", "exclusiveMinimum": 0},
    }
    EXAMPLE = "{builder: cells, range: [48, 2, 49, 3], step: 0.01, levels: [0.1, 1]}"

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._degrees = sizes(written, "the sizes of the cells in degrees", "[0.1, 1, 10]")
        self._range = _corners(written.get("range"))
        self._step = step(written, self._degrees[0], "places of the range, in degrees")

    def above(self, value: str) -> list[str]:
        latitude, longitude = _place(value)
        return [self._cell(latitude, longitude, size) for size in self._degrees]

    def leaves(self) -> Iterable[str] | None:
        if self._range is None:
            return None
        south, west, north, east = self._range
        rows, columns = (int((high - low) // self._step) + 1 for low, high in ((south, north), (west, east)))
        few(rows * columns)
        return (
            f"{written_out(south + i * self._step)},{written_out(west + j * self._step)}"
            for i in range(rows)
            for j in range(columns)
        )

    def _cell(self, latitude: Decimal, longitude: Decimal, size: Decimal) -> str:
        south, west = ((place / size).to_integral_value(ROUND_FLOOR) * size for place in (latitude, longitude))
        return "{},{}..{},{}".format(*map(written_out, (south, west, south + size, west + size)))


def _place(value: str) -> tuple[Decimal, Decimal]:
    latitude, comma, longitude = value.partition(",")
    try:
        place = number(latitude), number(longitude)
    except Unfit:
        comma = ""
    if not comma or abs(place[0]) > 90 or abs(place[1]) > 180:
        raise Unfit("is no latitude and longitude like 48.85,2.35")
    return place


def _corners(value: object) -> tuple[Decimal, Decimal, Decimal, Decimal] | None:
    if value is None:
        return None
    try:
        south, west, north, east = map(number, listed(value))
    except ValueError:
        raise PolicyError(["range: is no quadruple of numbers; write [south, west, north, east]"]) from None
    if not -90 <= south < north <= 90 or not -180 <= west < east <= 180:
        raise PolicyError(["range: is no part of the globe; write [south, west, north, east], in degrees"])
    return south, west, north, east
