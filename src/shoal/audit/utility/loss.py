"""Information loss: how wide what is shown is, against how wide it could be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.audit.cover import imputes
from shoal.audit.evidence import NO_ROW, Band, Evidence, Node
from shoal.audit.values import Flags
from shoal.policy import Attribute

Floats = NDArray[np.float64]

STRETCHES = 60


@dataclass(frozen=True)
class Loss:
    """Loss of what was published, from 0 (as it came) to 1 (nothing told).

    - `mean`: of all tuples; a tuple's loss is the mean over the quasi-identifiers it had, weighted as the policy says, 1 where
      it is blanked; 1 if the tuple is suppressed. Without a trace the mean is over those it shows.
    - `attribute`: of each quasi-identifier, over the same tuples.
    - `over_time`: of stretches of the output, in order, equally long.
    """

    mean: float
    attribute: dict[str, float]
    over_time: tuple[float, ...]


def of_cells(shown: Band | Node, attribute: Attribute) -> Floats:
    """The loss of one attribute in each row; NaN where nothing is shown.

    Numeric `(hi-lo)/(U-L)`, categorical `(leaves(node)-1)/(leaves(root)-1)`. In a cluster that was imputed, those who had no
    value lose everything; who they were is not shown, so every member carries their share.
    """
    if isinstance(shown, Band):
        loss = (shown.hi - shown.lo) / (attribute.high - attribute.low)
    else:
        spread = (shown.tree.last - shown.tree.first) / max(1, shown.tree.leaves - 1)
        loss = np.append(spread, np.nan)[np.maximum(shown.node, -1)]
    if shown.of is not None and shown.had is not None:
        imputed = shown.of > 0
        share = shown.had[imputed] / shown.of[imputed]
        loss[imputed] = share * loss[imputed] + (1.0 - share)
    return loss


def of_tuples(evidence: Evidence) -> tuple[Floats, dict[str, float]]:
    """The loss of each tuple, weighted as the policy says, and the mean of each attribute."""
    total = np.zeros(len(evidence.suppressed))
    weights = np.zeros(len(evidence.suppressed))
    means = {}
    for name, attribute in evidence.policy.quasi:
        loss = of_cells(evidence.published[name], attribute)
        had = _had(evidence, name, ~np.isnan(loss))
        loss[had & np.isnan(loss)] = 1.0
        means[name] = float(loss[had].mean()) if had.any() else 0.0
        weight = evidence.policy.weights.get(name, 1.0)
        np.add(total, weight * loss, out=total, where=had)
        weights += weight * had
    total /= np.where(weights > 0, weights, 1.0)
    total[evidence.suppressed] = 1.0
    return total, means


def _had(evidence: Evidence, name: str, shown: Flags) -> Flags:
    """Which tuples have something to lose: those that had it; where that is not known, or imputed, those that show it."""
    told = evidence.trace
    if told is None or imputes(evidence.policy):
        return shown
    had = ~np.append(evidence.original[name].missing, True)[told.row]
    return np.where(evidence.suppressed | (told.row == NO_ROW), shown, had)


def loss(each: Floats, attribute: dict[str, float]) -> Loss:
    """The loss of tuples in the order of the output."""
    return Loss(float(each.mean()) if len(each) else 0.0, attribute, stretches(each))


def stretches(each: Floats, count: int = STRETCHES) -> tuple[float, ...]:
    """Means over stretches, as equal as can be.

    >>> stretches(np.array([1.0, 3.0, 5.0, 7.0]), 2)
    (2.0, 6.0)
    """
    count = min(count, len(each))
    if not count:
        return ()
    starts = np.arange(count) * len(each) // count
    return tuple((np.add.reduceat(each, starts) / np.diff(starts, append=len(each))).tolist())
