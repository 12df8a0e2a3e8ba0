"""Numbers in bands: 34 lies in 30-34, that in 30-39."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import ROUND_FLOOR, Decimal
from typing import Any, ClassVar

from shoal.errors import PolicyError
from shoal.hierarchies.rule import Rule, Unfit, few, listed, number, sizes, step, written_out


class Bands(Rule):
    """Bands of equal width, counted from 0.

    >>> Bands({"levels": [5, 10]}).above("34"), Bands({"levels": [0.5]}).above("-1.2")
    (['30-34', '30-39'], ['[-1.5, -1)'])
    """

    NAME = "bands"
    KEYS: ClassVar = {
        "levels": {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1},
        "range": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        "step": {"type": "number", "exclusiveMinimum": 0},
    }
    EXAMPLE = "{builder: bands, range: [0, 119], levels: [5, 10, 20]}"

    def __init__(self, written: Mapping[str, Any]) -> None:
        self._widths = sizes(written, "the widths of the bands", "[5, 10, 20]")
        self._range = _ends(written.get("range"))
        self._step = step(written, 1, "values of the range")
        self._is_whole = all(size == size.to_integral_value() for size in (self._step, *self._widths))

    def above(self, value: str) -> list[str]:
        place = number(value)
        if self._is_whole and place != place.to_integral_value():
            raise Unfit("is not a whole number; give a step such as 0.1")
        return [self._band(place, width) for width in self._widths]

    def leaves(self) -> Iterable[str] | None:
        if self._range is None:
            return None
        low, high = self._range
        count = (high - low) // self._step + 1
        few(count)
        return (written_out(low + i * self._step) for i in range(int(count)))

    def _band(self, place: Decimal, width: Decimal) -> str:
        low = (place / width).to_integral_value(ROUND_FLOOR) * width
        if self._is_whole and low >= 0:
            return written_out(low) if width == 1 else f"{written_out(low)}-{written_out(low + width - 1)}"
        return f"[{written_out(low)}, {written_out(low + width)})"


def _ends(value: object) -> tuple[Decimal, Decimal] | None:
    if value is None:
        return None
    try:
        low, high = map(number, listed(value))
    except ValueError:
        raise PolicyError(["range: is no pair of numbers below 1e15; write [lowest, highest]"]) from None
    if not low < high:
        raise PolicyError(["range: its low end is not below its high end; write [lowest, highest]"])
    return low, high
