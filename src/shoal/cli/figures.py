"""Figures as people read them."""

from __future__ import annotations

from shoal.text import count, percent


def size(done: float, total: float | None) -> str:
    """Bytes.

    >>> size(1_250_000, 27_000_000), size(999, None)
    ('1.2/27.0 MB', '999 B')
    """
    largest = done if total is None else total
    unit, name = next(((u, n) for u, n in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")) if largest >= u), (1.0, "B"))
    digits = 0 if unit == 1 else 1
    return f"{done / unit:.{digits}f}{'' if total is None else f'/{total / unit:.{digits}f}'} {name}"


def share(part: int, whole: int) -> str:
    """A number and what part of all it is.

    >>> share(25, 1000), share(1, 1_000_000), share(0, 0)
    ('25 (2.5 %)', '1 (under 0.1 %)', '0')
    """
    return f"{count(part)} ({percent(part / whole)})" if part and whole else count(part)


def span(number: float) -> str:
    """A length of time as a policy writes it.

    >>> [span(number) for number in (0.25, 90, 5400, 86400, 32_227_200)]
    ['0.25s', '90s', '90m', '1d', '373d']
    """
    for unit, name in ((86400, "d"), (3600, "h"), (60, "m")):
        if number >= 2 * unit or number == unit:
            amount = number / unit
            return f"{amount:.{0 if amount == round(amount) or amount >= 100 else 1}f}{name}"
    return f"{number:.3g}s"


def seconds(number: float) -> str:
    """
    >>> [seconds(number) for number in (0.25, 30, 90, 5400)]
    ['0.25 s', '30 s', '1.5 min', '1.5 h']
    """
    for unit, name in ((3600, "h"), (60, "min")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:.3g} s"
