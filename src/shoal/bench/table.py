"""Tables of figures, for a terminal or a page, and the format of their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from shoal.bench.timing import Timing
from shoal.text import percent as percent_text
from shoal.text import short

NOTHING = "-"
_IDLE = 0.95  # the share of a core that says that nothing else ran on it


@dataclass(frozen=True)
class Table:
    """Figures as text, with notes below."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str] = field(default=())

    def markdown(self) -> str:
        """
        >>> print(Table("Speed", ("algorithm", "ns"), [("fads", "250")], ["k 50"]).markdown())
        **Speed**
        <BLANKLINE>
        | algorithm | ns |
        |---|--:|
        | fads | 250 |
        <BLANKLINE>
        k 50
        """
        lines = [self.header, ("---", *["--:"] * (len(self.header) - 1)), *self.rows]
        grid = [f"| {' | '.join(line)} |" for line in lines]
        grid[1] = grid[1].replace(" ", "")
        return "\n".join([f"**{self.title}**", "", *grid, *(part for note in self.notes for part in ("", note))])


def count(number: float) -> str:
    """
    >>> [count(number) for number in (2500, 30_000, 3_000_000)]
    ['2,500', '30 k', '3 M']
    """
    if number >= 1e6:
        return f"{number / 1e6:.3g} M"
    return f"{number / 1e3:.3g} k" if number >= 1e4 else f"{number:,.0f}"


def rate(number: float) -> str:
    """
    >>> [rate(number) for number in (950, 12_345, 412_345, 2_345_678)]
    ['950', '12.3 k', '412 k', '2.35 M']
    """
    return short(number) if number >= 1000 else _three(number)


def _three(number: float) -> str:
    return f"{number:.{2 if number < 10 else 1 if number < 100 else 0}f}" if number < 1000 else f"{number:,.0f}"


def whole(number: float | None) -> str:
    """
    >>> whole(1234.6), whole(None)
    ('1,235', '-')
    """
    return NOTHING if number is None else f"{number:,.0f}"


def times(ratio: float | None) -> str:
    """
    >>> times(1.034), times(1234.5), times(None)
    ('1.03 x', '1,234 x', '-')
    """
    return NOTHING if ratio is None else f"{_three(ratio)} x"


def percent(share: float | None) -> str:
    """
    >>> percent(0.034), percent(0.5)
    ('3.4 %', '50 %')
    """
    return NOTHING if share is None else percent_text(share, 1 if share < 0.1 else 0)


def megabytes(number: float | None) -> str:
    """
    >>> megabytes(1_234_567), megabytes(245_000_000), megabytes(None)
    ('1.2 MB', '245 MB', '-')
    """
    return NOTHING if number is None else f"{number / 1e6:,.{1 if number < 1e7 else 0}f} MB"


def loss(number: float | None) -> str:
    """
    >>> loss(0.25), loss(None)
    ('0.2500', '-')
    """
    return NOTHING if number is None else f"{number:.4f}"


def speed(timing: Timing) -> tuple[str, str, str]:
    """Tuples a second, ns per tuple and the spread."""
    return rate(timing["rate"]), whole(timing["ns"]), percent(timing["spread"])


def other_work(timings: Iterable[Timing]) -> list[str]:
    """A note if this process did not have its core alone."""
    busy = min(timing["busy"] for timing in timings)
    return [f"Other work took up to {percent(1 - busy)} of the core: repeat this on an idle machine."] if busy < _IDLE else []
