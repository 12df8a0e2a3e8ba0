"""The likely causes why values cannot be read, in words that do not show the values."""

from __future__ import annotations

import re
from collections.abc import Collection

import pyarrow as pa
import pyarrow.compute as pc

from shoal.date_text import column_forms, forms_of
from shoal.number_text import PLAIN, Marks

_MISSING = (
    "|?|??|na|n/a|n.a.|#n/a|<na>|nan|null|nil|none|(null)|\\n|-|--|---|.|..|unknown|missing|not available|not known|"
    "not specified|unspecified|undefined|blank|empty|(none)|(missing)|(unknown)|"
    "k.a.|k. a.|#nv|#n/v|keine angabe|keine angaben|unbekannt|nicht bekannt|n/d|n.d.|s.o.|inconnu|non renseigné|desconocido|"
    "sconosciuto|onbekend|desconhecido"
)
_MISSING_TEXTS = frozenset(_MISSING.split("|"))
_BARE = r"[+-]?[0-9]{1,3}(?:[.,' \u00a0\u202f\u2019][0-9]{3})*(?:[.,][0-9]+)?|[+-]?[0-9]+(?:[.,][0-9]+)?"
_WITH_SIGNS = re.compile(rf"[^0-9+-]{{0,4}}(?:{_BARE})[^0-9]{{0,6}}")
_ISO = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ].*)?")
_ISO_SHORT = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")
_GARBLED = re.compile("\ufffd|Ã[\u0080-\u00bf\u0152-\u2122]|Â[\u00a0-\u00bf]")
_AFFIXED = re.compile(rf"([^0-9+-]{{0,4}})((?:{_BARE}))([^0-9]{{0,6}})")
_MOST_AFFIXES = 3
_NULLS = "does it mean missing? (nulls)"
_BOTH = "is the decimal mark a comma? (input.decimal) or does a comma stand between thousands? (input.thousands)"


def is_missing(text: str) -> bool:
    """Whether a text is one that usually stands for a missing value.

    >>> [is_missing(text) for text in ("", "?", "N/A", "Unknown", "0", "no")]
    [True, True, True, True, False, False]
    """
    return text.lower() in _MISSING_TEXTS


def missing_among(texts: pa.Array) -> list[str]:
    """Those of the texts that usually stand for a missing value.

    >>> missing_among(pa.array(["NA", "Oslo", "?"]))
    ['NA', '?']
    """
    known = pa.array(sorted(_MISSING_TEXTS), texts.type)
    return texts.filter(pc.is_in(pc.utf8_lower(texts), known)).to_pylist()


def number_cause(text: str, marks: Marks = PLAIN) -> str:
    """Why a text may be no number; empty if that is not clear.

    >>> number_cause("3,5"), number_cause("x")
    ('is the decimal mark a comma? (input.decimal)', '')
    >>> number_cause("1,234")
    'is the decimal mark a comma? (input.decimal) or does a comma stand between thousands? (input.thousands)'
    """
    if is_missing(text):
        return _NULLS
    if forms_of(text) or _ISO_SHORT.fullmatch(text):
        return "is it a date? (part: year)"
    if marks.decimal != "," and Marks(",").plain(text):
        is_group = Marks(".", ",").plain(text) is not None
        return _BOTH if is_group and not marks.thousands else "is the decimal mark a comma? (input.decimal)"
    if marks.decimal != "." and PLAIN.plain(text):
        return "is the decimal mark a point? (input.decimal)"
    for decimal in (marks.decimal, "," if marks.decimal == "." else "."):
        for mark in {",", ".", " ", "'", "\u2019"} - {decimal}:
            if Marks(decimal, mark).plain(text):
                other = "" if decimal == marks.decimal else f"is the decimal mark {_called(decimal)}? (input.decimal) "
                return f"{other}is there a mark between thousands? (input.thousands)"
    if _WITH_SIGNS.fullmatch(text):
        return "is there a unit beside the number? remove it first"
    return ""


def are_affixed(texts: Collection[str]) -> bool:
    """Whether all texts are numbers, and some have one of few signs beside them: a unit, a currency, the sign of a negative.

    >>> are_affixed(["12 kg", "7.5 kg"]), are_affixed(["$5", "($3.10)"]), are_affixed(["12", "7"]), are_affixed(["P1", "Q1"])
    (True, True, False, False)
    >>> are_affixed(["P0012", "P0137"]), are_affixed(["12a", "14b", "9c", "1d"])
    (False, False)
    """
    found = [_AFFIXED.fullmatch(text) for text in texts]
    if not found or not all(found):
        return False
    parts = [match.groups() for match in found if match]
    before, after = {one.strip() for one, _, _ in parts}, {last.strip() for _, _, last in parts}
    is_code = any(one[-1:].isalpha() or (number[:1] == "0" and number[1:2].isdigit()) for one, number, _ in parts)
    return not is_code and len(before) <= _MOST_AFFIXES and len(after) <= _MOST_AFFIXES and bool((before | after) - {""})


def _called(mark: str) -> str:
    return "a comma" if mark == "," else "a point"


def time_cause(text: str) -> str:
    """Why a text may be no time; empty if that is not clear.

    >>> time_cause("03/04/2025"), time_cause("28.02.2025")
    ('is it dd/mm/yyyy or mm/dd/yyyy? (input.times)', 'is it dd.mm.yyyy? (input.times)')
    """
    if is_missing(text):
        return f"{_NULLS} every record needs a time"
    found = column_forms([text]) if forms_of(text) else ()
    return f"is it {' or '.join(found)}? (input.times)" if found else ""


def category_cause(text: str, leaves: Collection[str]) -> str:
    """Why a text may be no leaf of a hierarchy; empty if that is not clear.

    >>> category_cause("OSLO", {"Oslo"}), category_cause("N/A", {"Oslo"}), category_cause("Rome", {"Oslo"})
    ('is it written with other capital letters there?', 'does it mean missing? (nulls)', '')
    """
    if is_missing(text):
        return _NULLS
    if _GARBLED.search(text):
        return "is it in another encoding? (input.encoding)"
    if forms_of(text) and any(map(_ISO.fullmatch, leaves)):
        return "is it a date of another form? (input.times)"
    for changed in (text.lower(), text.upper(), text.title(), text.capitalize()):
        if changed != text and changed in leaves:
            return "is it written with other capital letters there?"
    return ""
