"""Risk of re-identification, by the size of the class a record hides in."""

from __future__ import annotations

from dataclasses import dataclass

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
class Risk:
    """Risk as ARX names it; records that were suppressed are in no class and left out.

    - *prosecutor*: the attacker knows that the person is in the stream; a record's risk is 1 / size of its class.
    - *journalist*: the attacker does not know; the size is that of the class in the population, here the accepted input:
      everybody whose record the published row could show. None where it was not asked for.
    - *marketer*: the share of all records that an attacker who links every one would link rightly.

    Sizes count persons where the persons are known, otherwise records. `exact` says whether the journalist's highest risk is
    the highest of all classes, rather than of those looked at.
    """

    records: int
    classes: int
    smallest: int
    average: float
    threshold: float
    prosecutor: Threat
    journalist: Threat | None
    marketer: float
    looked_at: int = 0
    exact: bool = True


@dataclass(frozen=True)
class Population:
    """How many persons of the population records drawn at random hide among (`sizes`), and the fewest seen anywhere."""

    sizes: Ints
    smallest: int
    exact: bool


def members(classes: Ints, person: Ints | None = None) -> Ints:
    """How many records, or different persons, each class has; a record whose class is negative is in none.

    >>> members(np.array([0, 1, 1, -1, 1]), np.array([7, 7, 8, 9, 8]))
    array([1, 2])
    """
    inside = classes >= 0
    code = classes[inside].astype(np.int64)
    count = int(code.max()) + 1 if len(code) else 0
    if person is not None and len(code):
        people = person[inside].astype(np.int64)
        width = int(people.max()) + 1
        code = np.unique(code * width + people) // width
    return np.bincount(code, minlength=count)


def risk(classes: Ints, threshold: float, person: Ints | None = None, population: Population | None = None) -> Risk:
    """The risk of records in these classes; a negative class stands for none.

    >>> found = risk(np.array([0, 0, 1, 1, 1, 1, -1]), threshold=0.25)
    >>> found.records, found.classes, found.smallest, found.average, found.prosecutor.highest
    (6, 2, 2, 3.0, 0.5)
    """
    size = members(classes, person)
    each = size[classes[classes >= 0]]
    prosecutor = Threat.of(each, threshold)
    journalist, looked_at, exact = None, 0, True
    if population is not None and len(population.sizes):
        drawn = Threat.of(population.sizes, threshold)
        journalist = Threat(1.0 / population.smallest, drawn.average, drawn.above)
        looked_at, exact = len(population.sizes), population.exact
    present = size[size > 0]
    return Risk(
        records=len(each),
        classes=len(present),
        smallest=int(present.min()) if len(present) else 0,
        average=float(present.mean()) if len(present) else 0.0,
        threshold=threshold,
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=(journalist or prosecutor).average,
        looked_at=looked_at,
        exact=exact,
    )
