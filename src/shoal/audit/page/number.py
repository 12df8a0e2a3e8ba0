"""Numbers for people."""

from __future__ import annotations

_SPACE = "\u00a0"  # a number stays with its unit


def count(number: float) -> str:
    """A whole number, with commas between thousands.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def percent(share: float) -> str:
    """A share in percent; one that is almost nothing, or almost all, is not rounded to it.

    >>> [percent(share).replace(_SPACE, " ") for share in (0, 0.0004, 0.0042, 0.071, 0.456, 0.9996, 1)]
    ['0 %', 'under 0.1 %', '0.4 %', '7.1 %', '46 %', 'over 99.9 %', '100 %']
    """
    if share in (0, 1):
        return f"{100 * share:.0f}{_SPACE}%"
    if share < 0.001:
        return f"under 0.1{_SPACE}%"
    if 0.999 < share < 1:
        return f"over 99.9{_SPACE}%"
    return f"{100 * share:.{0 if share >= 0.1 else 1}f}{_SPACE}%"


def chance(share: float) -> str:
    """A share as one in so many.

    >>> [chance(share) for share in (0, 0.00001, 0.0192, 0.34, 0.65, 1)]
    ['never', '1 in 100,000', '1 in 52', '1 in 2.9', '1 in 1.5', '1 in 1']
    """
    if share <= 0:
        return "never"
    return f"1 in {1 / share:,.1f}".removesuffix(".0") if share > 0.1 else f"1 in {1 / share:,.0f}"


def sentence(text: str) -> str:
    """A text with a capital and a full stop; the symbols k and z stay small.

    >>> sentence("no row left"), sentence("k persons."), sentence("")
    ('No row left.', 'k persons.', '')
    """
    if not text:
        return ""
    start = text[0] if text.startswith(("k ", "z ")) else text[0].upper()
    return f"{start}{text[1:].removesuffix('.')}."


def decimal(number: float) -> str:
    """At most three digits after the point, and none from 100 on.

    >>> [decimal(number) for number in (0.56545, 12.0, 1234.5)]
    ['0.565', '12', '1,234']
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.3f}".rstrip("0").rstrip(".")


def span(number: float, unit: str) -> str:
    """A time on the window's own clock.

    >>> span(2000, "arrivals"), span(0.25, "seconds"), span(1, "arrivals")
    ('2,000 arrivals', '0.25 seconds', '1 arrival')
    """
    return f"{decimal(number)} {unit[:-1] if number == 1 else unit}"


def plural(number: int, noun: str) -> str:
    """So many of something.

    >>> plural(1, "row"), plural(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"
