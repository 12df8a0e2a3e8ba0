"""Codes by their beginning, such as postcodes: 75013 lies in 750*, that in 75*."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, ClassVar

from shoal.errors import PolicyError
from shoal.hierarchies.rule import Rule, few


class Prefix(Rule):
    """The first so many characters; a code that is shorter skips the level.

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
        self._range = _ends(written.get("range"))

    def above(self, value: str) -> list[str]:
        return [f"{value[:length]}*" for length in self._lengths if length <= len(value)]

    def leaves(self) -> Iterable[str] | None:
        if self._range is None:
            return None
        first, last = self._range
        few(int(last) - int(first) + 1)
        return (f"{code:0{len(first)}d}" for code in range(int(first), int(last) + 1))


def _ends(value: object) -> tuple[str, str] | None:
    if value is None:
        return None
    ends = value if isinstance(value, list | tuple) else ()
    if len(ends) != 2 or not all(isinstance(end, str) and end.isascii() and end.isdigit() for end in ends):
        raise PolicyError(['range: is no pair of codes of digits; write it with quotes, like ["00000", "99999"]'])
    if len(ends[0]) != len(ends[1]) or not ends[0] < ends[1]:
        raise PolicyError(["range: its codes are not equally long, or its first is not below its last; write [first, last]"])
    return ends[0], ends[1]
