"""Numbers as people write them: `1.234,5` with a decimal comma and a mark between thousands."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

THOUSANDS = (",", ".", " ", "'", "\u00a0", "\u202f", "\u2019")
"""The marks that may stand between thousands; a space also stands for the two spaces that do not break."""

_SPACES = " \u00a0\u202f"
_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_UNWRITTEN = "\N{REPLACEMENT CHARACTER}"


class Marks(NamedTuple):
    """The decimal mark, and the mark between thousands; empty if there is none."""

    decimal: str = "."
    thousands: str = ""

    @property
    def pattern(self) -> str:
        """What a number looks like, as a regular expression."""
        point = re.escape(self.decimal)
        group = f"[{re.escape(_SPACES if self.thousands in _SPACES else self.thousands)}]" if self.thousands else ""
        whole = f"(?:[0-9]{{1,3}}(?:{group}[0-9]{{3}})+|[0-9]+)" if group else "[0-9]+"
        return rf"[+-]?(?:{whole}(?:{point}[0-9]*)?|{point}[0-9]+){_EXPONENT}"

    def plain(self, text: str) -> str | None:
        """The number as it is written with a point and without other marks; None if it is not written with these marks.

        >>> Marks(",", ".").plain("1.234,5"), Marks(",").plain("2,5"), Marks(",").plain("2.5")
        ('1234.5', '2.5', None)
        """
        if not _compiled(self).fullmatch(text):
            return None
        for mark in (_SPACES if self.thousands and self.thousands in _SPACES else self.thousands) or "":
            text = text.replace(mark, "")
        return text.replace(self.decimal, ".")


@lru_cache
def _compiled(marks: Marks) -> re.Pattern[str]:
    return re.compile(marks.pattern)


PLAIN = Marks()


def plain_numbers(texts: pa.Array, marks: Marks) -> pa.Array:
    """Texts with numbers written with a point alone; a number that is not written with these marks becomes none.

    >>> plain_numbers(pa.array(["1,5", "1.5", "12", "x", None]), Marks(",")).to_pylist()
    ['1.5', '1.5\ufffd', '12', 'x', None]
    """
    trimmed = pc.utf8_trim_whitespace(texts)
    fits = pc.match_substring_regex(trimmed, f"^{marks.pattern}$")
    found = trimmed
    for mark in (_SPACES if marks.thousands and marks.thousands in _SPACES else marks.thousands) or "":
        found = pc.replace_substring(found, mark, "")
    found = pc.replace_substring(found, marks.decimal, ".")
    other = pc.match_substring_regex(trimmed, f"^{PLAIN.pattern}$")
    broken = pc.binary_join_element_wise(texts, pa.scalar(_UNWRITTEN, texts.type), pa.scalar("", texts.type))
    return pc.if_else(fits, found, pc.if_else(other, broken, texts))
