"""The builders: numbers in bands, places in cells, dates, codes by prefix, IP addresses by network, diagnoses of ICD-10."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta
from decimal import ROUND_FLOOR, Decimal
from ipaddress import ip_address, ip_network
from itertools import pairwise
from typing import Any, ClassVar

from shoal.errors import PolicyError
from shoal.hierarchies.rule import Rule, Unfit, few, listed, number, sizes, step
from shoal.text import plain_decimal

_DATE = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ].*)?)?)?")
LEVELS: dict[str, Callable[[int, int], str]] = {
    "month": lambda year, month: f"{year:04d}-{month:02d}",
    "quarter": lambda year, month: f"{year:04d}-Q{(month + 2) // 3}",
    "year": lambda year, month: f"{year:04d}",
    "decade": lambda year, month: f"{year // 10:03d}0s",
}
CHAPTERS = (
    "A00-B99", "C00-D48", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95", "I00-I99", "J00-J99", "K00-K93",
    "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96", "Q00-Q99", "R00-R99", "S00-T98", "U00-U99", "V01-Y98", "Z00-Z99",
)  # fmt: skip
"""The chapters I to XXII of the WHO's version of 2019."""

_FIRST = [chapter[:3] for chapter in CHAPTERS]
_CODE = re.compile(r"([A-Z][0-9][0-9])(\.?[0-9A-Z]{1,4})?")


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
        self._range = _number_range(written.get("range"))
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
        return (plain_decimal(low + i * self._step) for i in range(int(count)))

    def _band(self, place: Decimal, width: Decimal) -> str:
        low = (place / width).to_integral_value(ROUND_FLOOR) * width
        if self._is_whole and low >= 0:
            return plain_decimal(low) if width == 1 else f"{plain_decimal(low)}-{plain_decimal(low + width - 1)}"
        return f"[{plain_decimal(low)}, {plain_decimal(low + width)})"


def _number_range(value: object) -> tuple[Decimal, Decimal] | None:
    if value is None:
        return None
    try:
        low, high = map(number, listed(value))
    except ValueError:
        raise PolicyError(["range: is no pair of numbers below 1e15; write [lowest, highest]"]) from None
    if not low < high:
        raise PolicyError(["range: its low end is not below its high end; write [lowest, highest]"])
    return low, high


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
            f"{plain_decimal(south + i * self._step)},{plain_decimal(west + j * self._step)}"
            for i in range(rows)
            for j in range(columns)
        )

    def _cell(self, latitude: Decimal, longitude: Decimal, size: Decimal) -> str:
        south, west = ((place / size).to_integral_value(ROUND_FLOOR) * size for place in (latitude, longitude))
        return "{},{}..{},{}".format(*map(plain_decimal, (south, west, south + size, west + size)))


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


class Dates(Rule):
    """Days, months or years in ISO 8601; a time of day is ignored.

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
        self._range = _day_range(written.get("range"))

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
    found = _DATE.fullmatch(value)
    try:
        if not found:
            raise ValueError
        date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        raise Unfit("is no date like 2024-05-17") from None
    return int(found[1]), int(found[2]) if found[2] else None


def _day_range(value: object) -> tuple[date, date] | None:
    if value is None:
        return None
    try:
        first, last = (date.fromisoformat(str(end)) for end in listed(value))
    except ValueError:
        raise PolicyError(["range: is no pair of days; write it like [2020-01-01, 2025-12-31]"]) from None
    if not first < last:
        raise PolicyError(["range: its first day is not before its last; write [first, last]"])
    return first, last


class Prefix(Rule):
    """Codes by their first characters, such as postcodes; a code that is shorter skips the level.

    >>> Prefix({"levels": [3, 2]}).above("75013"), Prefix({"levels": [3, 2]}).above("75")
    (['750*', '75*'], ['75*'])
    """

    NAME = "prefix"
    KEYS: ClassVar = {
        "levels": {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
        "range": {"type": "array", "items": {"type": "string", "pattern": "^[0-9]+$"}, "minItems": 2, "maxItems": 2},
    }
    EXAMPLE = '{builder: prefix, range: ["00000", "99999"], levels: [3, 2]}'

    def __init__(self, written: Mapping[str, Any]) -> None:
        levels = written.get("levels")
        if not isinstance(levels, list | tuple) or not levels or not all(type(level) is int for level in levels):
            raise PolicyError(["levels: is no list of whole numbers; list how many characters stay, such as [4, 2]"])
        if levels[-1] < 1 or any(coarse >= fine for fine, coarse in pairwise(levels)):
            raise PolicyError(["levels: do not fall, or not to 1 at least; list the longest first, such as [4, 2]"])
        self._lengths = list(levels)
        self._range = _code_range(written.get("range"))

    def above(self, value: str) -> list[str]:
        return [f"{value[:length]}*" for length in self._lengths if length <= len(value)]

    def leaves(self) -> Iterable[str] | None:
        if self._range is None:
            return None
        first, last = self._range
        few(int(last) - int(first) + 1)
        return (f"{code:0{len(first)}d}" for code in range(int(first), int(last) + 1))


def _code_range(value: object) -> tuple[str, str] | None:
    if value is None:
        return None
    ends = value if isinstance(value, list | tuple) else ()
    if len(ends) != 2 or not all(isinstance(end, str) and end.isascii() and end.isdigit() for end in ends):
        raise PolicyError(['range: is no pair of codes of digits; write it with quotes, like ["00000", "99999"]'])
    if len(ends[0]) != len(ends[1]) or not ends[0] < ends[1]:
        raise PolicyError(["range: its codes are not equally long, or its first is not below its last; write [first, last]"])
    return ends[0], ends[1]


class Networks(Rule):
    """IPv4 and IPv6 addresses by network; a prefix that is not shorter than the address skips the level.

    >>> rule = Networks({"levels": [48, 24, 16]})
    >>> rule.above("10.1.2.3"), rule.above("2001:db8::1")
    (['10.1.2.0/24', '10.1.0.0/16'], ['2001:db8::/48', '2001:d00::/24', '2001::/16'])
    """

    NAME = "networks"
    KEYS: ClassVar = {
        "levels": {"type": "array", "items": {"type": "integer", "minimum": 1, "maximum": 127}, "minItems": 1},
        "range": {"type": "string"},
    }
    EXAMPLE = "{builder: networks, range: 10.1.0.0/16, levels: [28, 24, 20]}"

    def __init__(self, written: Mapping[str, Any]) -> None:
        levels = written.get("levels", [24, 16, 8])
        if not isinstance(levels, list | tuple) or not levels or not all(type(n) is int and 0 < n < 128 for n in levels):
            raise PolicyError(["levels: is no list of prefix lengths from 1 to 127; list the longest first, such as [24, 16]"])
        if any(coarse >= fine for fine, coarse in pairwise(levels)):
            raise PolicyError(["levels: do not fall; list the longest prefix first, such as [24, 16]"])
        self._lengths = list(levels)
        try:
            self._range = ip_network(str(written["range"])) if "range" in written else None
        except ValueError:
            raise PolicyError(["range: is no network; write it like 10.1.0.0/16"]) from None

    def above(self, value: str) -> list[str]:
        try:
            address = ip_address(value)
        except ValueError:
            raise Unfit("is no IP address") from None
        lengths = [length for length in self._lengths if length < address.max_prefixlen]
        return [str(ip_network((int(address) if address.version == 4 else address, length), False)) for length in lengths]

    def leaves(self) -> Iterable[str] | None:
        if self._range is None:
            return None
        few(self._range.num_addresses)
        return map(str, self._range)


class Icd10(Rule):
    """Diagnoses by category and chapter. Without values, the leaves are all categories of three characters.

    >>> Icd10({}).above("E11.9"), Icd10({}).above("E11")
    (['E11*', 'E00-E90'], ['E00-E90'])
    """

    NAME = "icd10"
    KEYS: ClassVar = {}
    EXAMPLE = "{builder: icd10}"

    def __init__(self, written: Mapping[str, Any]) -> None:
        pass

    def above(self, value: str) -> list[str]:
        code = _CODE.fullmatch(value)
        chapter = CHAPTERS[max(bisect_right(_FIRST, code[1]) - 1, 0)] if code else ""
        if not code or not chapter[:3] <= code[1] <= chapter[4:]:
            raise Unfit("is no code of a chapter of ICD-10, such as E11.9")
        return [f"{code[1]}*", chapter] if code[2] else [chapter]

    def leaves(self) -> Iterable[str] | None:
        every = (f"{chr(letter)}{number:02d}" for letter in range(ord("A"), ord("Z") + 1) for number in range(100))
        return (code for code in every if any(chapter[:3] <= code <= chapter[4:] for chapter in CHAPTERS))
