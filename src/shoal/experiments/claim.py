"""What a paper says, and the verdict that follows from what was measured.

The rules are the same for all papers:

- *always*: holds if it is so in every setting, partly if in at least half of them.
- *mostly*: holds if it is so in at least half of the settings, partly if in at least a quarter of them.
- *between*: holds if all figures lie between the bounds, each widened by half a percentage point; partly if one does, or the
  mean; the figures are rounded in the papers.
- *rising*: holds if each step goes up, partly if the last is above the first.
- *close*: holds if the figure lies within the tolerance, partly within three times it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

HOLDS, PARTLY, FAILS = "holds", "holds partly", "does not hold"
VERDICTS = (HOLDS, PARTLY, FAILS)


class Claim(NamedTuple):
    """`where` names the section or figure; `said` is the paper's statement; the rest is ours."""

    where: str
    said: str
    measured: str
    verdict: str


def always(where: str, said: str, cases: Sequence[bool], measured: str) -> Claim:
    """What a paper says of every setting.

    >>> always("5.1", "less", [True, False, True], "less by 3 %").verdict
    'holds partly'
    """
    so = sum(cases)
    verdict = HOLDS if so == len(cases) else PARTLY if 2 * so >= len(cases) else FAILS
    counted = f"in {so} of {len(cases)} settings" if len(cases) > 1 else ""
    return Claim(where, said, "; ".join(filter(None, (counted, measured))), verdict)


def mostly(where: str, said: str, cases: Sequence[bool], measured: str) -> Claim:
    """What a paper says of most settings.

    >>> mostly("5.1", "less", [True, False, False], "").verdict
    'holds partly'
    """
    so = sum(cases)
    verdict = HOLDS if 2 * so >= len(cases) else PARTLY if 4 * so >= len(cases) else FAILS
    return always(where, said, cases, measured)._replace(verdict=verdict)


def between(where: str, said: str, shares: Sequence[float], lo: float, hi: float, measured: str = "") -> Claim:
    """What a paper says of shares; its bounds are in percent.

    >>> between("fig. 5", "3 to 9 % less", [0.031, 0.094], 3, 9)
    Claim(where='fig. 5', said='3 to 9 % less', measured='3.1 to 9.4 %', verdict='holds')
    """
    found = [100 * share for share in shares]

    def inside(value: float) -> bool:
        return lo - 0.5 <= value <= hi + 0.5

    mean = sum(found) / len(found)
    verdict = HOLDS if all(map(inside, found)) else PARTLY if any(map(inside, [*found, mean])) else FAILS
    shown = f"{span(found, 1)} %" if len(found) > 1 else f"{found[0]:.1f} %"
    return Claim(where, said, "; ".join(filter(None, (shown, measured))), verdict)


def rising(where: str, said: str, values: Sequence[float], measured: str) -> Claim:
    """What a paper says goes up from setting to setting.

    >>> rising("5.1", "it grows", [1.0, 3.0, 2.0], "").verdict
    'holds partly'
    """
    steps = [after > before for before, after in pairwise(values)]
    verdict = HOLDS if all(steps) else PARTLY if values[-1] > values[0] else FAILS
    return Claim(where, said, measured, verdict)


def close(where: str, said: str, value: float, expected: float, tolerance: float, measured: str) -> Claim:
    """What a paper says is a certain figure.

    >>> close("5.1", "0.8", 0.931, 0.8, 0.05, "0.931").verdict
    'holds partly'
    """
    off = abs(value - expected)
    return Claim(where, said, measured, HOLDS if off <= tolerance else PARTLY if off <= 3 * tolerance else FAILS)


def less(a: float, b: float) -> float:
    """By what share a is less than b.

    >>> less(0.9, 1.0).__round__(6)
    0.1
    """
    return 1 - a / b if b else 0.0


def all_less(a: Sequence[float], b: Sequence[float]) -> list[float]:
    """By what share each of a is less than its counterpart.

    >>> all_less([0.5, 3.0], [1.0, 4.0])
    [0.5, 0.25]
    """
    return [less(x, y) for x, y in zip(a, b, strict=True)]


def below(a: Sequence[float], b: Sequence[float]) -> list[bool]:
    """Whether each of a is below its counterpart.

    >>> below([1, 3], [2, 3])
    [True, False]
    """
    return [x < y for x, y in zip(a, b, strict=True)]


def span(values: Sequence[float], digits: int = 3) -> str:
    """From the least to the most.

    >>> span([0.5, 0.25, 1])
    '0.250 to 1.000'
    """
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def percents(shares: Sequence[float], digits: int = 1) -> str:
    """From the least to the most, in percent.

    >>> percents([0.5, 0.25, 1])
    '25.0 to 100.0 %'
    """
    return f"{span([100 * share for share in shares], digits)} %"


def listed(values: Sequence[float], form: str = ".3f") -> str:
    """All of them.

    >>> listed([0.5, 0.25]), listed([1000, 2], ",")
    ('0.500, 0.250', '1,000, 2')
    """
    return ", ".join(format(value, form) for value in values)
