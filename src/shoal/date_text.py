"""Dates and times as people write them: `dd.mm.yyyy hh:mm`, or a count of units since 1970."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
"""The units in which times are counted since 1970, and how many make a second."""

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_TOKEN = re.compile(r"dd|mmm|mm|yyyy|yy|hh|ss|am|zone|[ T.,/:-]")
_PATTERNS = {
    "day": "[0-9]{1,2}", "month": "[0-9]{1,2}", "name": "[A-Za-z]{3,9}", "year": "[0-9]{4}", "short": "[0-9]{2}",
    "hour": "[0-9]{1,2}", "minute": "[0-9]{2}", "second": r"[0-9]{2}(?:[.,][0-9]{1,9})?", "half": "[AaPp][Mm]",
    "zone": "(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2})",
}  # fmt: skip
_PARTS = {"dd": "day", "mmm": "name", "yyyy": "year", "yy": "short", "hh": "hour", "ss": "second", "am": "half", "zone": "zone"}
_UTC = ("Z", "UTC", "GMT")
_PIVOT = 69  # of years of two digits: 69 to 99 are of the 20th century, 00 to 68 of the 21st
_LENGTHS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])


class Moments(NamedTuple):
    """Seconds since 1970, NaN if a text is missing or has another form; and which have another form."""

    seconds: NDArray[np.float64]
    wrong: NDArray[np.bool_]


def problem(form: str) -> str | None:
    """What is wrong with the form of a column of times, if anything.

    >>> problem("dd.mm.yyyy"), problem("ms"), problem("dd.mm")
    (None, None, 'has no year; write it like dd.mm.yyyy, mm/dd/yyyy hh:mm, or as s, ms, us or ns since 1970')
    """
    remedy = "write it like dd.mm.yyyy, mm/dd/yyyy hh:mm, or as s, ms, us or ns since 1970"
    if form in UNITS:
        return None
    names = [name for _, name in _pieces(form) if name]
    if "".join(text for text, _ in _pieces(form)) != form or not names:
        return f"is not a form of a time; {remedy}"
    for needed, ways in (("year", ("year", "short")), ("month", ("month", "name")), ("day", ("day",))):
        if sum(names.count(way) for way in ways) != 1:
            return f"has {'no' if not set(ways) & set(names) else 'more than one'} {needed}; {remedy}"
    if len(set(names)) < len(names):
        return f"has a part twice; {remedy}"
    if ("minute" in names) != ("hour" in names) or ("half" in names and "hour" not in names):
        return f"has half a time of day; {remedy}"
    return None


def _pieces(form: str) -> list[tuple[str, str]]:
    """The tokens of a form, each with the name of its part; empty for a mark between parts.

    `mm` are minutes after `hh:`, and after `hh` if the month stands before.
    """
    found: list[tuple[str, str]] = []
    for token in _TOKEN.findall(form):
        name = _PARTS.get(token, "")
        if token == "mm":
            before = {part for _, part in found}
            name = "minute" if "hour" in before and (found[-1][0] == ":" or before & {"month", "name"}) else "month"
        found.append((token, name))
    return found


@lru_cache(64)
def pattern(form: str) -> str:
    """What a time of this form looks like, as a regular expression whose groups are the parts.

    >>> pattern("dd.mm.yyyy")
    '^(?P<day>[0-9]{1,2})\\\\.(?P<month>[0-9]{1,2})\\\\.(?P<year>[0-9]{4})$'
    """
    pieces = _pieces(form)
    is_dense = any(one and other for (_, one), (_, other) in pairwise(pieces[:3]))
    digits = {name: text.replace("{1,2}", "{2}") if is_dense else text for name, text in _PATTERNS.items()}
    return f"^{''.join(f'(?P<{name}>{digits[name]})' if name else re.escape(text) for text, name in pieces)}$"


def moments(texts: pa.Array, form: str) -> Moments:
    """The times of texts of one form; without a zone they are UTC.

    >>> moments(pa.array(["01.02.1970", " 1.1.1970", "31.2.1970", None]), "dd.mm.yyyy")
    Moments(seconds=array([2678400.,       0.,      nan,      nan]), wrong=array([False, False,  True, False]))
    """
    found = pc.extract_regex(pc.utf8_trim_whitespace(texts), pattern(form))
    there = found.is_valid().to_numpy(zero_copy_only=False)
    wrong = texts.is_valid().to_numpy(zero_copy_only=False) & ~there
    parts = {name: pc.struct_field(found, name) for name in (field.name for field in found.type)}

    def whole(name: str, absent: int = 0) -> NDArray[np.int64]:
        if name not in parts:
            return np.full(len(texts), absent)
        return pc.fill_null(parts[name].cast(pa.int64()), absent).to_numpy(zero_copy_only=False)

    year = whole("year") if "year" in parts else whole("short") + np.where(whole("short") < _PIVOT, 2000, 1900)
    month = _month_numbers(parts["name"]) if "name" in parts else whole("month", 1)
    day, hour, minute = whole("day", 1), whole("hour"), whole("minute")
    second = np.zeros(len(texts))
    if "second" in parts:
        point = pc.replace_substring(parts["second"], ",", ".")
        second = pc.fill_null(point.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
    bad = (month < 1) | (month > 12) | (day < 1) | (hour > 23) | (minute > 59) | (second >= 60)
    month = np.clip(month, 1, 12)
    if "half" in parts:
        is_late = pc.fill_null(pc.equal(pc.utf8_lower(parts["half"]), "pm"), False).to_numpy(zero_copy_only=False)
        bad |= (hour < 1) | (hour > 12)
        hour = hour % 12 + 12 * is_late
    is_leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    bad |= (day > _LENGTHS[month - 1] + (is_leap & (month == 2))) | (year < 1)
    days = (
        ((year - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (month - 1)).astype("datetime64[D]").astype(np.int64)
    )
    seconds = (days + day - 1) * 86400.0 + hour * 3600.0 + minute * 60.0 + second
    if "zone" in parts:
        seconds -= _offsets(parts["zone"])
    wrong |= there & bad
    return Moments(np.where(there & ~bad, seconds, np.nan), wrong)


def _month_numbers(names: pa.Array) -> NDArray[np.int64]:
    short = pc.utf8_slice_codeunits(pc.utf8_lower(names), 0, 3)
    found = pc.index_in(short, pa.array(MONTHS, short.type))
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64) + 1


def _offsets(zones: pa.Array) -> NDArray[np.float64]:
    """Seconds east of UTC."""
    coded = zones.dictionary_encode()
    table = [_offset(zone) for zone in coded.dictionary.to_pylist()]
    return np.array([*table, 0.0])[coded.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)]


def _offset(zone: str) -> float:
    """
    >>> _offset("Z"), _offset("UTC"), _offset("+01:30"), _offset("-0500")
    (0.0, 0.0, 5400.0, -18000.0)
    """
    if zone in _UTC:
        return 0.0
    digits = zone[1:].replace(":", "")
    return (-1.0 if zone[0] == "-" else 1.0) * (3600 * int(digits[:2]) + 60 * int(digits[2:]))


def years(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The year of each moment, in UTC.

    >>> years(np.array([0.0, -1.0, np.nan]))
    array([1970., 1969.,   nan])
    """
    known = np.isfinite(seconds)
    days = np.floor(np.where(known, seconds, 0.0) / 86400).astype(np.int64)
    return np.where(known, days.astype("datetime64[D]").astype("datetime64[Y]").astype(np.int64) + 1970.0, np.nan)


def iso_days(seconds: NDArray[np.float64]) -> pa.Array:
    """The day of each moment as ISO 8601, null if there is none.

    >>> iso_days(np.array([86400.0, np.nan])).to_pylist()
    ['1970-01-02', None]
    """
    known = np.isfinite(seconds)
    days = np.floor(np.where(known, seconds, 0.0) / 86400).astype(np.int32)
    return pa.array(days, pa.int32(), mask=~known).cast(pa.date32()).cast(pa.string())


_SHAPE = re.compile(
    r"(?P<a>[0-9]{1,4})(?P<mark>[ ./-])(?P<b>[0-9]{1,2}|[A-Za-z]{3,9})(?P=mark)(?P<c>[0-9]{4}|[0-9]{1,2})"
    r"(?:(?P<gap>T|,? |:)(?P<hour>[0-9]{1,2})(?P<colon>[:.])[0-9]{2}(?P<second>(?P=colon)[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r"(?P<half> ?[AaPp][Mm])?(?P<zone> ?(?:Z|UTC|GMT|[+-][0-9]{2}:?[0-9]{2}))?)?"
)


def forms_of(text: str) -> tuple[str, ...]:
    """The forms in which a text can be read as a date, ISO 8601 aside.

    >>> forms_of("03.04.2025"), forms_of("3/25/2025 8:30 PM"), forms_of("x")
    (('dd.mm.yyyy', 'mm.dd.yyyy'), ('mm/dd/yyyy hh:mm am',), ())
    >>> forms_of("2025-3-25"), forms_of("2025-03-25"), forms_of("2025-03-25 20:30 UTC")
    (('yyyy-mm-dd',), (), ('yyyy-mm-dd hh:mm zone',))
    >>> forms_of("25/Mar/2025:20:30:05 +0100"), forms_of("25.3.2025 20.30")
    (('dd/mmm/yyyy:hh:mm:ss zone',), ('dd.mm.yyyy hh.mm',))
    """
    found = _SHAPE.fullmatch(text)
    return () if found is None or _is_iso(found) else _forms(found)


def _forms(found: re.Match[str]) -> tuple[str, ...]:
    """All forms, also that of ISO 8601."""
    if found["mark"] == " " and found["b"].isdigit():
        return ()
    mark, first, last = found["mark"], found["a"], found["c"]
    clock = ""
    if found["hour"]:
        clock = f"{found['gap']}hh{found['colon']}mm" + f"{found['colon']}ss" * bool(found["second"])
        clock += "".join(part.group(1) + name for name in ("am", "zone") if (part := _space(found, name)))
    if len(first) == 4:
        is_day = found["b"].isdigit() and len(last) < 3 and 1 <= int(found["b"]) <= 12 and 1 <= int(last) <= 31
        return (f"yyyy{mark}mm{mark}dd{clock}",) if is_day else ()
    year = "yyyy" if len(last) == 4 else "yy" if len(last) == 2 else ""
    if not year or len(first) > 2:
        return ()
    if not found["b"].isdigit():
        return (f"dd{mark}mmm{mark}{year}{clock}",) if found["b"][:3].lower() in MONTHS else ()
    one, two = int(first), int(found["b"])
    day_first = [f"dd{mark}mm{mark}{year}{clock}"] if 1 <= one <= 31 and 1 <= two <= 12 else []
    month_first = [f"mm{mark}dd{mark}{year}{clock}"] if 1 <= one <= 12 and 1 <= two <= 31 else []
    return (*day_first, *month_first)


def _is_iso(found: re.Match[str]) -> bool:
    """Whether a date is written as ISO 8601 says."""
    if len(found["a"]) < 4 or found["mark"] != "-":
        return False
    has_two_digits = {len(found[part] or "00") for part in ("b", "c", "hour")} == {2}
    return has_two_digits and found["colon"] != "." and (found["zone"] or "").strip() not in _UTC[1:]


def _space(found: re.Match[str], name: str) -> re.Match[str] | None:
    """The space before the half of a day, or before a zone, if there is such a part."""
    return re.match("( ?)", found["half" if name == "am" else name] or "") if found["half" if name == "am" else name] else None


def column_forms(texts: Iterable[str]) -> tuple[str, ...]:
    """The forms in which all texts of a column can be read; with points between the parts the day comes first, if it can.

    >>> column_forms(["03.04.2025", "28.02.2025"]), column_forms(["03/04/2025"]), column_forms(["03.04.2025", "x"])
    (('dd.mm.yyyy',), ('dd/mm/yyyy', 'mm/dd/yyyy'), ())
    """
    common: tuple[str, ...] | None = None
    for text in texts:
        shape = _SHAPE.fullmatch(text)
        found = _forms(shape) if shape else ()
        common = found if common is None else tuple(form for form in common if form in found)
        if not common:
            return ()
    common = common or ()
    return common[:1] if common and common[0].startswith("dd.") else common
