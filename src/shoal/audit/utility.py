"""What the published stream is still good for: loss, purity, cost."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shoal.audit.algorithms import imputes
from shoal.audit.answers import Answers, answers
from shoal.audit.evidence import Evidence
from shoal.audit.published import Band, Node
from shoal.audit.risk import members
from shoal.audit.trace import CLUSTER, NO_ROW, REUSE
from shoal.audit.values import Flags, Floats, Integers
from shoal.policy import Attribute

_STRETCHES = 60


@dataclass(frozen=True)
class Loss:
    """Loss of what was published, from 0 (as it came) to 1 (nothing shown).

    - `mean`: of all tuples; a tuple's loss is the mean over the quasi-identifiers it had, weighted as the policy says, 1 where
      it is blanked; 1 if the tuple is suppressed. Without a trace the mean is over those it shows.
    - `attribute`: of each quasi-identifier, over the same tuples.
    - `over_time`: of stretches of the output, in order, equally long.
    """

    mean: float
    attribute: dict[str, float]
    over_time: tuple[float, ...]


def _cell_losses(shown: Band | Node, attribute: Attribute) -> Floats:
    """The loss of one attribute in each row; NaN where nothing is shown.

    Numeric `(hi-lo)/(U-L)`, categorical `(leaves(node)-1)/(leaves(root)-1)`, of a set by the leaves at or below its labels. In
    a group that was imputed, members without a value lose everything; which members these are is not shown, so every member
    carries a share.
    """
    if isinstance(shown, Band):
        loss = (shown.hi - shown.lo) / (attribute.high - attribute.low)
    else:
        spread = (shown.sizes - 1) / max(1, shown.tree.leaves - 1)
        loss = np.append(spread, np.nan)[np.maximum(shown.node, -1)]
    if shown.of is not None and shown.had is not None:
        imputed = shown.of > 0
        share = shown.had[imputed] / shown.of[imputed]
        loss[imputed] = share * loss[imputed] + (1.0 - share)
    return loss


def losses(evidence: Evidence) -> tuple[Floats, dict[str, float]]:
    """The loss of each tuple, weighted as the policy says, and the mean of each attribute."""
    total = np.zeros(len(evidence.suppressed))
    weights = np.zeros(len(evidence.suppressed))
    means = {}
    for name, attribute in evidence.policy.quasi:
        loss = _cell_losses(evidence.published[name], attribute)
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
    trace = evidence.trace
    if trace is None or imputes(evidence.policy):
        return shown
    had = ~np.append(evidence.original[name].missing, True)[trace.row]
    return np.where(evidence.suppressed | (trace.row == NO_ROW), shown, had)


def _stretches(each: Floats, count: int = _STRETCHES) -> tuple[float, ...]:
    """Means over stretches, as equal as can be.

    >>> _stretches(np.array([1.0, 3.0, 5.0, 7.0]), 2)
    (2.0, 6.0)
    """
    count = min(count, len(each))
    if not count:
        return ()
    starts = np.arange(count) * len(each) // count
    return tuple((np.add.reduceat(each, starts) / np.diff(starts, append=len(each))).tolist())


@dataclass(frozen=True)
class Purity:
    """The purity of groups: values that members had, out of members times quasi-identifiers.

    X-BAND (section V.C) shows purity without defining it; this reading fits its figures: with at most 6 of 14 values missing it
    reports 70 to 90 %, and 3 of 14 missing on average leave 79 %.
    """

    groups: int
    mean: float
    smallest: float


def _purity(evidence: Evidence) -> Purity | None:
    """The purity of the groups that the trace names; None without a trace, or without a group."""
    if evidence.trace is None:
        return None
    grouped = (evidence.trace.how == CLUSTER) & (evidence.trace.row >= 0) & (evidence.trace.cluster >= 0)
    if not grouped.any():
        return None
    had = np.zeros(len(evidence.line), dtype=np.int32)
    for name, _ in evidence.policy.quasi:
        had += ~evidence.original[name].missing
    _, group = np.unique(evidence.trace.cluster[grouped], return_inverse=True)
    members = np.bincount(group)
    values = np.bincount(group, weights=had[evidence.trace.row[grouped]])
    each = values / (members * len(evidence.policy.quasi))
    return Purity(len(each), float(each.mean()), float(each.min()))


@dataclass(frozen=True)
class Utility:
    """What is left to use.

    - `cost`: the mean of loss times the price of waiting, `loss · (1+a)^wait` (FAST, equation 8). The paper gives no `a`; here
      it is such that a wait of the window's length doubles the loss. None without a trace.
    - `doubt`: the share of the quasi-identifiers of unsuppressed rows that say "or missing"; 0 but under `blurred`.
    - `suppressed`, `reused`: shares of the tuples; `reused` is None without a trace.
    - `discernibility`: each tuple costs as many as are in its class, a suppressed one as many as there are (Bayardo, Agrawal).
    """

    loss: Loss
    doubt: float
    cost: float | None
    purity: Purity | None
    suppressed: float
    reused: float | None
    discernibility: int
    answers: Answers


def utility(evidence: Evidence, classes: Integers) -> Utility:
    """The utility of what was published; `classes` numbers the classes of equal rows, negative where suppressed."""
    each, attribute = losses(evidence)
    count = len(each)
    trace = evidence.trace
    size = members(classes).astype(np.float64)
    hidden = int(evidence.suppressed.sum())
    cost = reused = None
    if trace is not None and (trace.row != NO_ROW).any():
        known = np.flatnonzero(trace.row != NO_ROW)
        waits = np.maximum(trace.released[known] - trace.arrived[known], 0.0) / evidence.policy.window.length
        with np.errstate(over="ignore", invalid="ignore"):
            price = float((each[known] * np.exp2(waits)).mean())
        cost = price if math.isfinite(price) else None
        reused = float((trace.how[known] == REUSE).mean())
    return Utility(
        loss=Loss(float(each.mean()) if len(each) else 0.0, attribute, _stretches(each)),
        doubt=evidence.doubt,
        cost=cost,
        purity=_purity(evidence),
        suppressed=hidden / count if count else 0.0,
        reused=reused,
        discernibility=int((size**2).sum()) + hidden * count,
        answers=answers(evidence),
    )
