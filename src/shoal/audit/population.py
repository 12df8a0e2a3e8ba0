"""The population that the persons of the output are drawn from, where a file of it is given.

- *k-map* (Sweeney): the fewest records of the population that a published row could show.
- *presence* (δ-presence, Nergiz, Atzori and Clifton): the chance that a person of the population who fits a class of rows is
  in the output: the persons of the class, out of the records of the population that fit. The largest is what counts; by
  chance it is the share of the population that is in the output.

Every record of the population counts as a person. At most 1,000 classes are looked at, the smallest first; the population that
fits a class is counted up to 1,000 records, or twice k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shoal.audit.attacks import Attack
from shoal.audit.classes import classes
from shoal.audit.evidence import Evidence
from shoal.audit.files import Source
from shoal.audit.original import Original, Tree, original
from shoal.audit.risk import Accepted
from shoal.policy import Policy

LOOKED_AT = 1_000
PRESENCE = Attack(
    "presence",
    "the population, and which of its records fit a class of rows",
    "a person who fits is in the output; baseline: a person of the population is",
)


@dataclass(frozen=True)
class Present:
    """Which persons of the population the output shows to be in it."""

    records: int  # of the population
    k_map: int
    lowest: float  # the chance to be in the output, of the classes that were looked at
    highest: float
    classes: int  # that were looked at
    exact: bool  # whether these are all


def read_population(policy: Policy, source: Source, on_rows: Callable[[int], None]) -> Original:
    """The quasi-identifiers of a population; other fields are not needed."""
    quasi = replace(policy, person=None, time=None, attributes=dict(policy.quasi))
    trees = {name: Tree.of(attribute.hierarchy) for name, attribute in policy.quasi if attribute.hierarchy}
    return original(quasi, source, trees, on_rows)


def presence(evidence: Evidence, population: Original) -> tuple[Present, Attack] | None:
    """Compare the classes of equal rows with the population; None if there is no class."""
    found = classes(evidence, "extended")
    rows = np.flatnonzero(found.size > 0)
    if not len(rows) or not len(population.line):
        return None
    _, first = np.unique(found.of[rows], return_index=True)
    shown = rows[first]
    shown = shown[np.argsort(found.size[shown], kind="stable")][:LOOKED_AT]
    accepted = Accepted(
        replace(evidence, original=population.quasi, person=population.person, line=population.line, cache={}), patterns=True
    )
    fitting = np.array([accepted.fitting(int(row)) for row in shown])
    chance = np.minimum(1.0, found.size[shown] / fitting)
    records, persons = len(population.line), len(np.unique(evidence.person))
    present = Present(
        records, int(fitting.min()), float(chance.min()), float(chance.max()), len(shown), len(shown) == len(first)
    )
    some = "" if present.exact else f", of the {len(shown):,} smallest classes"
    detail = (
        f"at least {present.k_map:,} records of the population fit a row (k-map); present are {100 * chance.min():.1f} % to "
    )
    detail += f"{100 * chance.max():.1f} % of those who fit{some}"
    return present, PRESENCE.run(len(shown), present.highest, min(1.0, persons / records), detail)
