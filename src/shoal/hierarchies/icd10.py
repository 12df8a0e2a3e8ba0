"""Diagnoses of ICD-10: E11.9 lies in the category E11, that in the chapter E00-E90."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from shoal.hierarchies.rule import Rule, Unfit

CHAPTERS = (
    "A00-B99", "C00-D48", "D50-D89", "E00-E90", "F00-F99", "G00-G99", "H00-H59", "H60-H95", "I00-I99", "J00-J99", "K00-K93",
    "L00-L99", "M00-M99", "N00-N99", "O00-O99", "P00-P96", "Q00-Q99", "R00-R99", "S00-T98", "U00-U99", "V01-Y98", "Z00-Z99",
)  # fmt: skip
"""The chapters I to XXII of the WHO's version of 2019."""

_FIRST = [chapter[:3] for chapter in CHAPTERS]
_CODE = re.compile(r"([A-Z][0-9][0-9])(\.?[0-9A-Z]{1,4})?")


class Icd10(Rule):
    """Without values, the leaves are the categories of three characters that a chapter has room for.

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
