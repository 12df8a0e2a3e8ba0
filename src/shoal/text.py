"""Numbers as text, in the one way in which all layers but the judge write them."""

from __future__ import annotations

import math
from decimal import Decimal


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


def counted(number: float, noun: str, nouns: str = "") -> str:
    """A count and its noun; `nouns` is the plural where that is not just an s more.

    >>> counted(1, "row"), counted(12000, "row"), counted(2, "category", "categories")
    ('1 row', '12,000 rows', '2 categories')
    """
    return f"{number:,.0f} {noun if number == 1 else nouns or f'{noun}s'}"


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
