"""Tight, in plain Python.

A group begins with the tuple that is due. The tuple that keeps the group's loss lowest joins it, until k persons are in it.
"""

from __future__ import annotations

import numpy as np

from shoal.algorithms import Waiting


def choose(waiting: Waiting) -> list[int]:
    order = np.argsort(waiting.distances(waiting.due), kind="stable")
    due, *others = waiting.first_of_each([waiting.due, *order])
    near, group = others[: max(waiting.k - 1, waiting.parameters.tried)], [due]
    while len(group) < waiting.k:
        best = min(near, key=lambda other: waiting.loss([*group, other]))
        near.remove(best)
        group.append(best)
    return group
