"""Dates: the day 2024-05-17 lies in 2024-05, that in 2024-Q2, that in 2024."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from typing import Any, ClassVar

from shoal.errors import PolicyError
from shoal.hierarchies.rule import Rule, Unfit, few, listed

_FORM = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ].*)?)?)?")

LEVELS: dict[str, Callable[[int, int], str]] = {
    "month": lambda year, month: f"{year:04d}-{month:02d}",
    "quarter": lambda year, month: f"{year:04d}-Q{(month + 2) // 3}",
    "year": lambda year, month: f"{year:04d}",
    "decade": lambda year, month: f"{year // 10:03d}0s",
}


class Dates(Rule):
    """Days, or months or years, in ISO 8601; what follows the day is not looked at.

    >>> Dates({}).above("2024-05-17"), Dates({"levels": ["year"]}).above("2024-05")
    (['2024-05', '2024-Q2', '2024'], ['2024'])
    """

    NAME = "dates"
    KEYS: ClassVar = {
        "levels": {"type": "array", "items": {"enum": [*LEVELS]}, "minItems": 1},
        "range": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 2},
    }
    EXAMPLE = "{builder: dates, range: [2020-01-01, 2025-12-31], levels: [month, quarter, year]}"

    def __init__(self, written: Mapping[str, Any]) -> None:
        levels = written.get("levels", ["month", "quarter", "year"])
        known = [level for level in LEVELS if isinstance(levels, list | tuple) and level in levels]
        if not known or known != list(levels):
            raise PolicyError([f"levels: is no list of levels; choose from {', '.join(LEVELS)}, in this order"])
        self._levels = known
        self._range = _ends(written.get("range"))

    def above(self, value: str) -> list[str]:
        year, month = _parts(value)
        if month is None:
            return [LEVELS["decade"](year, 1)] if "decade" in self._levels else []
        names = [LEVELS[level](year, month) for level in self._levels]
        return names[1:] if names[0] == value else names

    def leaves(self) -> Iterable[str] | None:
        if self._range is None:
            return None
        first, last = self._range
        days = (last - first).days + 1
        few(days)
        return ((first + timedelta(day)).isoformat() for day in range(days))


def _parts(value: str) -> tuple[int, int | None]:
    found = _FORM.fullmatch(value)
    try:
        if not found:
            raise ValueError
        date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        raise Unfit("is no date like 2024-05-17") from None
    return int(found[1]), int(found[2]) if found[2] else None


def _ends(value: object) -> tuple[date, date] | None:
    if value is None:
        return None
    try:
        first, last = (date.fromisoformat(str(end)) for end in listed(value))
    except ValueError:
        raise PolicyError(["range: is no pair of days; write it like [2020-01-01, 2025-12-31]"]) from None
    if not first < last:
        raise PolicyError(["range: its first day is not before its last; write [first, last]"])
    return first, last
