"""Numbers and intervals as text, in the one way in which all layers but the judge write them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any


def plain_number(value: float) -> str | None:
    """A whole number without a fraction, any other as Python writes it; None for NaN.

    >>> plain_number(1.0), plain_number(1.5), plain_number(float("nan"))
    ('1', '1.5', None)
    """
    if math.isnan(value):
        return None
    return str(int(value)) if value.is_integer() else repr(value)


def plain_decimal(value: Decimal) -> str:
    """All digits of a finite number, without an exponent and without needless zeros.

    >>> [plain_decimal(Decimal(text)) for text in ("5.0", "0.50", "-0", "1E+2")]
    ['5', '0.5', '0', '100']
    """
    if value == 0:
        return "0"
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(number: float) -> str:
    """A whole number, with commas between thousands.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def short(number: float) -> str:
    """At most four digits.

    >>> [short(number) for number in (0, 950, 12_345, 412_345, 2_345_678)]
    ['0', '950', '12.3 k', '412 k', '2.35 M']
    """
    for unit, name in ((1e6, " M"), (1e3, " k")):
        if number >= unit:
            amount = number / unit
            return f"{amount:.{2 if amount < 10 else 1 if amount < 100 else 0}f}{name}"
    return f"{number:.0f}"


def counted(number: float, noun: str, nouns: str = "") -> str:
    """A count and its noun; `nouns` is the plural where that is not just an s more.

    >>> counted(1, "row"), counted(12000, "row"), counted(2, "category", "categories")
    ('1 row', '12,000 rows', '2 categories')
    """
    return f"{count(number)} {noun if number == 1 else nouns or f'{noun}s'}"


def percent(share: float, digits: int = 1) -> str:
    """A share that is neither 0 nor 1 is never written as if it were.

    >>> [percent(share) for share in (0, 0.00004, 0.0123, 0.9996, 1)]
    ['0 %', 'under 0.1 %', '1.2 %', 'over 99.9 %', '100 %']
    >>> [percent(share, digits=0) for share in (0.001, 0.26, 0.999)]
    ['under 1 %', '26 %', 'over 99 %']
    """
    least = 10.0**-digits
    if 0 < share < least / 100:
        return f"under {least:.{digits}f} %"
    if 1 - least / 100 < share < 1:
        return f"over {100 - least:.{digits}f} %"
    return f"{100 * share:.{0 if share in (0, 1) else digits}f} %"


def interval_text(low: Any, high: Any) -> str:
    """An interval as people read it; a date that both ends share is written once.

    >>> interval_text(20.0, 22.5), interval_text(3, 3), interval_text("2025-03-01T08:00:20Z", "2025-03-01T08:00:40Z")
    ('20 – 22.5', '3', '2025-03-01 08:00:20 – 08:00:40')
    """
    first, last = end_text(low), end_text(high)
    if low == high:
        return first
    date = first.find(" ") + 1
    return f"{first} – {last[date:] if first[:date] == last[:date] else last}"


def end_text(value: Any) -> str:
    """One end of an interval, or any other number: at most ten digits.

    >>> end_text(1200.0), end_text(0.1 + 0.2), end_text("2025-03-01T08:00:20Z")
    ('1200', '0.3', '2025-03-01 08:00:20')
    """
    if isinstance(value, int | float):
        return f"{value:.10g}"
    return str(value).replace("T", " ").removesuffix("Z")
