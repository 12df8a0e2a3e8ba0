"""The end of a step: the chosen tuples leave through the door, and a new group may enter the reuse set.

`blocks.state` explains the arguments."""

from __future__ import annotations

import numpy as np

from shoal.blocks.diversity import ROOM, withhold_unmet, withholds
from shoal.blocks.groups import group_loss
from shoal.blocks.release import CLUSTER, release
from shoal.blocks.reuse import admit
from shoal.blocks.window import in_order
from shoal.compiled import inlined, inner


@inlined
def release_chosen(s, size, row, how, reusable=True, failed=False):
    """Release the first `size` chosen tuples with row `row`; admit the row to the reuse set if it is new, and reusable.

    A new group that failed withholds the attributes of which it does not meet all demands.
    """
    slots = s.scratch.chosen[:size]
    new_loss = 0.0
    if how == CLUSTER and failed:
        withhold_unmet(s.exits.diversity, s.groups, row, s.window, slots, s.scratch)
    if how == CLUSTER and s.reuse.rule.loss < np.inf:
        in_order(s.window, slots, s.scratch)
        new_loss = group_loss(s.domain, s.groups, row, s.window, slots)
    published = release(s, slots, row, how)
    if published and how == CLUSTER and reusable and new_loss < s.reuse.rule.loss:
        keep_for_reuse(s, row)


@inner
def call_release_chosen(core, size, row, how, failed):
    """`release_chosen` as a call, compiled once for all algorithms: for those that use it in several places, or rarely."""
    release_chosen(core, size, row, how, True, failed)


@inlined
def keep_for_reuse(s, row):
    """Admit a group that was just published to the reuse set, unless it withholds values or shows too many to be remembered."""
    if withholds(s.groups, row):
        return
    for a in range(len(s.exits.diversity.counted)):
        if s.exits.diversity.counted[a] and s.groups.shown[row, a] > ROOM:
            return
    admit(s.reuse, s.groups, row, s.window.clock.now)
