"""What an attack is, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from shoal.audit.attacks.view import Target

TARGETS = 200
SEED = 4_242
NO_TRACE = "not checkable: without the trace it is unknown whether a guess is right"


@dataclass(frozen=True)
class Attack:
    """One attack.

    `knows` is what the attacker knows, `meaning` what counts as success. `success` is the share of attempts that succeed,
    `baseline` the same without what the attack adds. Both are None where it was not run; `obstacle` says why.
    """

    name: str
    knows: str
    meaning: str
    tried: int = 0
    success: float | None = None
    baseline: float | None = None
    detail: str = ""
    obstacle: str = ""
    by_releases: tuple[tuple[int, int, float], ...] = ()  # after so many releases: persons tried, and the success
    control: float | None = None  # the success of the same attack that never saw the person, where it is not the baseline

    def hindered(self, obstacle: str) -> Attack:
        """The same attack, which could not be run."""
        return replace(self, obstacle=obstacle)

    def run(self, tried: int, success: float, baseline: float, detail: str = "") -> Attack:
        """The same attack, run."""
        return replace(self, tried=tried, success=success, baseline=baseline, detail=detail)


class Attacker(Protocol):
    """Tries target by target, and reports what came of it."""

    def attempt(self, target: Target) -> None: ...

    def result(self) -> Attack: ...


class Tally:
    """How often it is right to take one of the rows that fit.

    >>> tally = Tally()
    >>> tally.add(own=1, fitting=4)
    >>> tally.add(own=1, fitting=1)
    >>> tally.rate, tally.detail
    (0.625, "2 rows fit in the median; only the person's own fit for 1 of 2")
    """

    def __init__(self) -> None:
        self.chances: list[float] = []
        self.fitting: list[int] = []
        self.certain = 0

    def add(self, own: int, fitting: int) -> None:
        """One target: so many of the rows that fit are about the person."""
        self.chances.append(own / fitting if fitting else 0.0)
        self.fitting.append(fitting)
        self.certain += bool(own) and own == fitting

    @property
    def rate(self) -> float:
        """The mean chance of being right."""
        return float(np.mean(self.chances)) if self.chances else 0.0

    @property
    def detail(self) -> str:
        """Among how many the person was hidden."""
        middle = round(float(np.median(self.fitting))) if self.fitting else 0
        return f"{middle:,} rows fit in the median; only the person's own fit for {self.certain:,} of {len(self.chances):,}"
