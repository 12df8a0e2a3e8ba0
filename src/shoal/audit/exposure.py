"""What an outsider can still do: each attack in the words of the European regulators' opinion on anonymisation techniques.

The opinion (Article 29 Working Party, WP216) asks three things of a technique: can a person be *singled out*, can records about
a person be *linked*, can something be *inferred* about a person? Here each is the success of an attack on this very output,
beside its success by chance: that of a control which never saw the person.

An attack is *worse* if it succeeds more often than its bound. The bound is what `privacy.accept` says; where that says nothing,
it is c + c·(1 - c)/2 + 1 %, where c is the success by chance, for singling out and linking at least 1/k; and 1/√n more if
success was counted in n yes-or-no attempts. For values across releases, where each release adds to the last, it is
c + 1.96·√(c·(1 - c)/n) + 1 %. No row may be below k.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from shoal.audit.attacks import Attack
from shoal.audit.whole_rows import WholeRows
from shoal.policy import Policy

Kind = Literal["singling out", "linking", "inferring"]
KINDS: dict[str, Kind] = {
    "whole row": "singling out", "below k": "singling out", "presence": "singling out",
    "linkage": "linking", "null pattern": "linking", "timing": "linking", "order": "linking", "intersection": "linking",
}  # fmt: skip
_ACROSS = "values across releases"
_COUNTED = (
    "order",
    "inference",
    "minimality",
    "end points",
    "helper",
    _ACROSS,
)  # success is counted in yes-or-no attempts
_GROUPS = (
    "homogeneity",
    "inference",
    "intersection of values",
    "helper",
    _ACROSS,
)  # these have one attack for each attribute
_LEAST = 0.01


@dataclass(frozen=True)
class Exposure:
    """One attack: how often it succeeds, by how much chance would, and what is accepted."""

    kind: Kind
    name: str  # as `privacy.accept` calls it
    of: str  # the sensitive attribute; empty where there is none
    success: float | None  # None where it could not be tried
    chance: float | None
    bound: float | None  # what is not worse
    accepted: float | None  # what the policy accepts, where it says so
    tried: int
    detail: str
    obstacle: str
    usual: float | None = None  # what would not be worse if the policy accepted nothing

    @property
    def label(self) -> str:
        """Its name, and the attribute it is about."""
        return f"{self.name} ({self.of})" if self.of else self.name

    @property
    def is_worse(self) -> bool:
        """Whether it succeeds more often than its bound."""
        return self.success is not None and self.bound is not None and self.success > self.bound

    @property
    def fails(self) -> bool:
        """Whether it is worse than what the policy accepts."""
        return self.accepted is not None and self.is_worse

    @property
    def is_tolerated(self) -> bool:
        """Whether it succeeds more often than by chance, and no more often than the policy accepts."""
        known = self.success is not None and self.usual is not None and self.accepted is not None
        return known and not self.is_worse and self.success > self.usual  # type: ignore[operator]

    def to_dict(self) -> dict[str, Any]:
        found = {**asdict(self), "is_worse": self.is_worse, "fails": self.fails}
        del found["usual"]
        return found

    @property
    def excess(self) -> float:
        """How much more often it succeeds than by chance."""
        return -1.0 if self.success is None or self.chance is None else self.success - self.chance


def exposures(policy: Policy, attacks: Iterable[Attack], whole: WholeRows) -> tuple[Exposure, ...]:
    """Every attack, the worst first: those that fail, those that are worse than chance, then by how much."""
    found = [_below_k(policy, whole), *(_of(policy, attack) for attack in attacks)]
    return tuple(sorted(found, key=lambda each: (not each.fails, not each.is_worse, each.success is None, -each.excess)))


def _below_k(policy: Policy, whole: WholeRows) -> Exposure:
    accepted = policy.privacy.accept.get("below k")
    share = whole.below / whole.rows if whole.rows else 0.0
    detail = f"{whole.below:,} of {whole.rows:,} rows are in classes below k with all that is published, {whole.alone:,} alone"
    return Exposure(
        "singling out", "below k", "", share, 0.0, 0.0 if accepted is None else accepted, accepted, whole.rows, detail, "", 0.0
    )


def _of(policy: Policy, attack: Attack) -> Exposure:
    name, of = named(attack.name)
    kind = KINDS.get(name, "inferring")
    accepted = policy.privacy.accept.get(name)
    by_chance = attack.baseline if attack.control is None else attack.control
    usual = None
    if by_chance is not None:
        floor = 0.0 if kind == "inferring" else 1.0 / policy.privacy.k
        noise = 1.0 / math.sqrt(attack.tried) if name in _COUNTED and attack.tried else 0.0
        usual = bound_of(max(by_chance, floor)) + noise
        if name == _ACROSS and attack.tried:
            usual = by_chance + 1.96 * math.sqrt(by_chance * (1 - by_chance) / attack.tried) + _LEAST
    bound = usual if accepted is None else accepted
    return Exposure(
        kind, name, of, attack.success, by_chance, bound, accepted, attack.tried, attack.detail, attack.obstacle, usual
    )  # fmt: skip


def pseudonym_bound(attack: Attack) -> float | None:
    """How often an attack on pseudonyms may succeed by accident; None if it was not run.

    >>> pseudonym_bound(Attack("rotation, by items", "", "").run(100, 0.5, 0.0))
    0.11
    """
    if attack.baseline is None or not attack.tried:
        return None
    return bound_of(attack.baseline) + 1.0 / math.sqrt(attack.tried)


def beats_chance(attack: Attack) -> bool:
    """Whether an attack on pseudonyms succeeds more often than its bound."""
    bound = pseudonym_bound(attack)
    return bound is not None and attack.success is not None and attack.success > bound


def bound_of(by_chance: float) -> float:
    """What is not clearly more often than by chance.

    >>> [round(bound_of(chance), 3) for chance in (0.0, 0.05, 0.2, 0.8)]
    [0.01, 0.084, 0.29, 0.89]
    """
    return by_chance + by_chance * (1 - by_chance) / 2 + _LEAST


def named(full: str) -> tuple[str, str]:
    """The name of an attack, and the attribute it is about.

    >>> named("homogeneity of illness"), named("intersection of values of cost of care")
    (('homogeneity', 'illness'), ('intersection of values', 'cost of care'))
    >>> named("end points"), named("helper: illness")
    (('end points', ''), ('helper', 'illness'))
    """
    for name in sorted(_GROUPS, key=len, reverse=True):
        for mark in (" of ", ": "):
            if full.startswith(f"{name}{mark}"):
                return name, full.removeprefix(f"{name}{mark}")
    return full, ""
