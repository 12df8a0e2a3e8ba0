"""Risk of re-identification, by the size of the class a record hides in."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Threat:
    """What one kind of attacker can hope for: the highest and the average risk, and the share of records above a threshold."""

    highest: float
    average: float
    above: float

    @classmethod
    def of(cls, sizes: Ints, threshold: float) -> Threat:
        """The threat to records that hide among so many each.

        >>> Threat.of(np.array([2, 2, 4, 4, 4, 4]), threshold=0.25)
        Threat(highest=0.5, average=0.3333333333333333, above=0.3333333333333333)
        """
        if not len(sizes):
            return cls(0.0, 0.0, 0.0)
        risks = 1.0 / sizes
        return cls(float(risks.max()), float(risks.mean()), float((risks > threshold).mean()))


@dataclass(frozen=True)
class Population:
    """How many persons of the population records drawn at random hide among (`sizes`), and the fewest seen anywhere.

    `exact` says whether these are the fewest of all, or of the records that were looked at.
    """

    sizes: Ints
    smallest: int
    exact: bool


@dataclass(frozen=True)
class Risk:
    """Risk as ARX names it; records that were suppressed are in no class and left out.

    - *prosecutor*: the attacker knows that the person is in the stream; a record's risk is 1 / size of its class.
    - *journalist*: the attacker does not know; the size is that of the class in the population, here the accepted input:
      everybody whose record the published row could show.
    - *marketer*: the share of the records that one who links them all with the population links rightly.

    Sizes count persons where these are known, otherwise records. Without a population the last two are None. `average` is the
    average size of a class: the inverse of the prosecutor's average risk.
    """

    records: int
    smallest: int
    average: float
    threshold: float
    prosecutor: Threat
    journalist: Threat | None = None
    marketer: float | None = None
    exact: bool = True


def risk(size: Ints, threshold: float, population: Population | None = None, smallest: int = 1) -> Risk:
    """The risk of records that hide among so many each, 0 standing for a suppressed one; none hides among less than `smallest`.

    >>> found = risk(np.array([2, 2, 4, 4, 4, 4, 0]), threshold=0.25)
    >>> found.records, found.smallest, found.average, found.prosecutor.highest
    (6, 2, 3.0, 0.5)
    """
    each = np.maximum(size[size > 0], smallest)
    prosecutor = Threat.of(each, threshold)
    found = Risk(
        records=len(each),
        smallest=int(each.min()) if len(each) else 0,
        average=1.0 / prosecutor.average if len(each) else 0.0,
        threshold=threshold,
        prosecutor=prosecutor,
    )
    if population is None or not len(population.sizes):
        return found
    drawn = Threat.of(population.sizes, threshold)
    journalist = replace(drawn, highest=1.0 / population.smallest)
    return replace(found, journalist=journalist, marketer=drawn.average, exact=population.exact)


def members(classes: Ints) -> Ints:
    """How many records each class has; a record whose class is negative is in none.

    >>> members(np.array([0, 1, 1, -1, 1]))
    array([1, 3])
    """
    return np.bincount(classes[classes >= 0])
