"""Classes of rows that look alike, under each reading of nulls."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import Evidence
from shoal.audit.keys import NO_CLASS
from shoal.audit.values import Flags
from shoal.audit.wildcards import Wildcards, counted
from shoal.policy import Policy

NullReading = Literal["basic", "extended", "maybe"]
READINGS: tuple[NullReading, ...] = get_args(NullReading)
Numbers = NDArray[np.int64]


def promised(policy: Policy) -> NullReading:
    """The reading of nulls under which rows that look alike count k persons; where no nulls are shown, any."""
    return "maybe" if policy.privacy.nulls_match == "maybe" else "extended"


class Classes(NamedTuple):
    """Which rows look alike. Suppressed rows are no class.

    Under `basic` a null matches nothing: a row with one is alone. Under `extended` a null matches nulls alone. Under
    `maybe` it matches everything, which makes no classes, since a row may match two that do not match each other.
    """

    of: NDArray[np.int32]  # the class of each row, NO_CLASS if it is suppressed; under `maybe` as under `extended`
    size: Numbers  # how many match each row, itself included: persons, or rows where those are not known; 0 if suppressed
    smallest: int  # of all sizes, as far as it was looked for; 0 where there are none
    floor: int  # no size is smaller; the same as `smallest` where that is certain
    unknown: Flags  # rows of which only that many are known to match, though there may be more and it is below k


def classes(evidence: Evidence, reading: NullReading) -> Classes:
    """The classes of the published rows under a reading of nulls, counted in persons if there is a trace."""
    if reading not in evidence.remembered:
        evidence.remembered[reading] = _classes(evidence, reading)
    found: Classes = evidence.remembered[reading]
    return found


def _classes(evidence: Evidence, reading: NullReading) -> Classes:
    alike, nulls = evidence.alike
    person = evidence.persons
    if reading == "basic":
        lonely = np.flatnonzero((nulls > 0) & (alike != NO_CLASS))
        alike = alike.copy()
        alike[lonely] = alike.max(initial=-1) + 1 + np.arange(len(lonely), dtype=np.int32)
    size = counted(alike, person)
    if reading == "maybe" and nulls[alike != NO_CLASS].any():
        return Classes(alike, *Wildcards(evidence, size).matching())
    there = size[size > 0]
    smallest = int(there.min()) if len(there) else 0
    return Classes(alike, size, smallest, smallest, np.zeros(len(size), bool))
