"""What an anonymizer has done so far, in figures that tell nothing of any person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from shoal.anonymizer.drift import Drift

_FAULTS = ("too_small", "uncovered", "thin", "uniform", "late", "twice")


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Where tuples are held until they leave in a group."""

    received: int
    rejected: int
    reasons: Mapping[str, int]  # why records were rejected, and how many
    held: int
    released: int
    groups: int
    clustered: int
    reused: int
    suppressed: int
    loss: float  # the mean over the released tuples, of what was published
    smallest_group: int | None  # persons, at the moment of publication
    longest_wait: float | None  # arrivals under count and buffer windows, seconds under time windows
    stretched: int  # tuples that waited longer than the window, since fewer than k persons were there
    faults: Mapping[str, int]  # what the door stopped: empty unless an algorithm is wrong
    drift: Drift = field(default_factory=Drift, compare=False)  # fields that came and went, as seen batch by batch


@dataclass(frozen=True, kw_only=True)
class FilterStats:
    """Where observations are released or withheld at once."""

    received: int
    rejected: int
    reasons: Mapping[str, int]  # why records were rejected, and how many
    released: int  # with their item, or with what it was generalized to
    generalized: int  # of these
    withheld: int
    z: int | None  # now; None while a z that follows the stream lets nothing through yet
    drift: Drift = field(default_factory=Drift, compare=False)  # fields that came and went, as seen batch by batch


def stats(received: int, reasons: Mapping[str, int], held: int, tally: np.record) -> Stats:
    released = int(tally.clustered + tally.reused + tally.suppressed)
    return Stats(
        received=received, rejected=sum(reasons.values()), reasons=dict(reasons), held=held, released=released,
        groups=int(tally.groups), clustered=int(tally.clustered), reused=int(tally.reused),
        suppressed=int(tally.suppressed), loss=float(tally.loss) / released if released else 0.0,
        smallest_group=int(tally.smallest) if tally.groups else None,
        longest_wait=float(tally.longest) if released else None, stretched=int(tally.stretched),
        faults={name: int(tally[name]) for name in _FAULTS if tally[name]},
    )  # fmt: skip
