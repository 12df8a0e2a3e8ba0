"""What the published stream is still good for."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoal.audit.evidence import NO_ROW, REUSE, Evidence
from shoal.audit.risk import members
from shoal.audit.utility.answers import Answers, CategoryAnswer, NumberAnswer, answers
from shoal.audit.utility.loss import Loss, loss, of_tuples
from shoal.audit.utility.purity import Purity, purity

__all__ = ["Answers", "CategoryAnswer", "Loss", "NumberAnswer", "Purity", "Utility", "utility"]


@dataclass(frozen=True)
class Utility:
    """What is left to use.

    - `cost`: the mean of loss times the price of waiting, `loss · (1+a)^wait` (FAST, equation 8). The paper gives no `a`; here
      it is such that a wait of the window's length doubles the loss. None without a trace.
    - `suppressed`, `reused`: shares of the tuples; `reused` is None without a trace.
    - `discernibility`: each tuple costs as many as are in its class, a suppressed one as many as there are (Bayardo, Agrawal).
    """

    loss: Loss
    cost: float | None
    purity: Purity | None
    suppressed: float
    reused: float | None
    discernibility: int
    answers: Answers


def utility(evidence: Evidence, classes: NDArray[np.integer]) -> Utility:
    """The utility of what was published; `classes` numbers the classes of equal rows, negative where suppressed."""
    each, attribute = of_tuples(evidence)
    count = len(each)
    trace = evidence.trace
    size = members(classes).astype(np.float64)
    hidden = int(evidence.suppressed.sum())
    cost = reused = None
    told = None if trace is None else np.flatnonzero(trace.row != NO_ROW)
    if trace is not None and told is not None and len(told):
        waits = np.maximum(trace.released[told] - trace.arrived[told], 0.0) / evidence.policy.window.length
        with np.errstate(over="ignore"):
            price = float((each[told] * np.exp2(waits)).mean())
        cost = price if math.isfinite(price) else None
        reused = float((trace.how[told] == REUSE).mean())
    return Utility(
        loss=loss(each, attribute),
        cost=cost,
        purity=purity(evidence),
        suppressed=hidden / count if count else 0.0,
        reused=reused,
        discernibility=int((size**2).sum()) + hidden * count,
        answers=answers(evidence),
    )
