"""What has to leave, foretold from the input and the policy alone: with a fixed z that is certain, and no trace is needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoal.audit.observations.nodes import BLANK
from shoal.audit.observations.recount import Recount
from shoal.audit.observations.trace import GENERALIZED, RELEASED, WITHHELD, Trace


class Prediction(NamedTuple):
    """The rows that have to be there, in order."""

    trace: Trace
    node: NDArray[np.int32]  # what each shows


def predict(path: NDArray[np.int32], count: Recount, z: int, blank: bool) -> Prediction:
    """`path` holds the nodes of each observation from its item to the root; `blank`: what is withheld leaves without its item.

    >>> count = Recount(np.array([[1, 1], [1, 2], [2, 3]], np.int32), np.zeros(3, bool), np.zeros(3, bool))
    >>> predict(np.array([[0, 2], [1, 2], [0, 2]], np.int32), count, 2, blank=False).node.tolist()
    [2, 0]
    """
    enough = count.users >= z
    level = enough.argmax(axis=1)
    public = enough.any(axis=1)
    rows = np.flatnonzero(~count.rejected & (public | blank))
    shown = np.where(public, path[np.arange(len(path)), level], BLANK).astype(np.int32)
    how = np.where(~public, WITHHELD, np.where(level > 0, GENERALIZED, RELEASED)).astype(np.int8)
    return Prediction(Trace(rows, how[rows], np.full(len(rows), z)), shown[rows])
