"""Numbers, dates and bytes as the policy's `input` says they are written, read by rules of the judge's own."""

from __future__ import annotations

import io
import re
from codecs import getincrementaldecoder
from datetime import UTC, datetime, timedelta, timezone
from typing import BinaryIO

_SPACES = " \u00a0\u202f"
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_NAMES = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_SAID = re.compile(rb"(?i)\Asep=.\r?\n")
_AHEAD = 16


def point_number(text: str, decimal: str, thousands: str) -> str | None:
    """A number as it is written with a point and no other mark; None if it is not written as the policy says.

    >>> point_number("1.234,5", ",", "."), point_number("1.5", ",", ""), point_number("-3", ",", ".")
    ('1234.5', None, '-3')
    """
    sign = text[:1] if text[:1] in ("+", "-") else ""
    mantissa, mark, exponent = text[len(sign) :].partition("e" if "e" in text else "E")
    if mark and not re.fullmatch("[+-]?[0-9]+", exponent):
        return None
    whole, point, part = mantissa.partition(decimal)
    marks = _SPACES if thousands and thousands in _SPACES else thousands
    groups = re.split(f"[{re.escape(marks)}]", whole) if marks else [whole]
    if len(groups) > 1 and (not 1 <= len(groups[0]) <= 3 or any(len(group) != 3 for group in groups[1:])):
        return None
    digits = "".join(groups)
    if (
        not (digits + part)
        or not (digits + part).isascii()
        or not (digits + part).isdigit()
        or (point and not digits and not part)
    ):
        return None
    return f"{sign}{digits}{'.' if point else ''}{part}{'e' if mark else ''}{exponent}"


def moment(text: str, form: str) -> float:
    """The seconds since 1970 of a date in a form such as `dd.mm.yyyy hh:mm`; ValueError if it has another form.

    >>> moment("02.01.1970", "dd.mm.yyyy"), moment("1/2/1970 1:00 PM", "mm/dd/yyyy hh:mm am")
    (86400.0, 133200.0)
    """
    rest, parts = text, dict[str, str]()
    dense = re.fullmatch(r"[a-z]+", form) is not None
    for token in re.findall(r"yyyy|mmm|dd|mm|yy|hh|ss|am|zone|.", form):
        key = "minute" if token == "mm" and "hh" in parts and "minute" not in parts else token
        taken = re.match(_shape(key, dense), rest)
        if taken is None:
            raise ValueError("of another form")
        if len(token) > 1:
            parts[key] = taken[0]
        rest = rest[taken.end() :]
    if rest:
        raise ValueError("of another form")
    return _seconds(parts)


def _shape(key: str, dense: bool) -> str:
    shapes = {
        "yyyy": r"\d{4}", "yy": r"\d{2}", "mmm": r"[A-Za-z]{3,9}", "minute": r"\d{2}", "ss": r"\d{2}(?:[.,]\d{1,9})?",
        "am": r"(?i:am|pm)", "zone": r"Z|UTC|GMT|[+-]\d{2}:?\d{2}",
    }  # fmt: skip
    if key in ("dd", "mm", "hh"):
        return r"(?a:\d{2})" if dense else r"(?a:\d{1,2})"
    return f"(?a:{shapes[key]})" if key in shapes else re.escape(key)


def _seconds(parts: dict[str, str]) -> float:
    year = int(parts["yyyy"]) if "yyyy" in parts else (lambda y: y + (1900 if y >= 69 else 2000))(int(parts["yy"]))
    month = _NAMES.index(parts["mmm"][:3].lower()) + 1 if "mmm" in parts else int(parts["mm"])
    hour = int(parts.get("hh", "0"))
    if "am" in parts:
        if not 1 <= hour <= 12:
            raise ValueError("no hour of half a day")
        hour = hour % 12 + (12 if parts["am"].lower() == "pm" else 0)
    second = float(parts.get("ss", "0").replace(",", "."))
    if second >= 60:
        raise ValueError("no second")
    zone = parts.get("zone", "Z")
    offset = timedelta(0)
    if zone not in ("Z", "UTC", "GMT"):
        digits = zone[1:].replace(":", "")
        offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:])) * (-1 if zone[0] == "-" else 1)
    whole = datetime(
        year, month, int(parts["dd"]), hour, int(parts.get("minute", "0")), tzinfo=timezone(offset) if offset else UTC
    )
    return whole.timestamp() + second


def units(form: str | None) -> int | None:
    """How many units of a form make a second; None if it does not count units."""
    return _UNITS.get(form or "")


class Text(io.RawIOBase):
    """The bytes of a file as UTF-8, without a first line that only names the separator.

    Bytes that the encoding does not have stay as they are, and so are no UTF-8.
    """

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._decoder = None if encoding == "utf-8" else getincrementaldecoder(encoding)("surrogateescape")
        self._held = b""
        while len(self._held) < _AHEAD and (more := self._more(_AHEAD)):
            self._held += more
        mark = b"\xef\xbb\xbf" if self._held.startswith(b"\xef\xbb\xbf") else b""
        said = _SAID.match(self._held[len(mark) :])
        if said:
            self._held = self._held[len(mark) + said.end() :]

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        if not self._held:
            self._held = self._more(max(len(buffer), _AHEAD))
        taken = self._held[: len(buffer)]
        self._held = self._held[len(taken) :]
        buffer[: len(taken)] = taken
        return len(taken)

    def _more(self, size: int) -> bytes:
        while True:
            raw = self._file.read(size)
            if self._decoder is None:
                return raw
            text = self._decoder.decode(raw, not raw).encode("utf-8", "surrogateescape")
            if text or not raw:
                return text

    def close(self) -> None:
        self._file.close()
        super().close()
