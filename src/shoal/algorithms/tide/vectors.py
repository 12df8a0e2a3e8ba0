"""Steps over whole vectors of 64 or 32 entries, or of 16 quasi-identifiers.

No bounds are checked: arrays reach to the end of a stride.
"""

from __future__ import annotations

from shoal.compiled import Instruction

LANES = 32
"""Of how many entries `least` takes a multiple."""

COLUMNS = 16
"""How many quasi-identifiers `widen_box` compares."""

_INTRINSICS = "shoal.algorithms.tide.vectors_intrinsics"

least = Instruction(_INTRINSICS, "least")
"""least(array, entries). The smallest of the first `entries` numbers, a multiple of 32 and not 0; none is NaN."""

wider_intervals = Instruction(_INTRINSICS, "wider_intervals")
"""wider_intervals(wider, start, low, high, q, first, place). wider[start + i] = the width of the interval from
low[q, first + i] to high[q, first + i] with this place, for 64 groups."""

wider_nodes = Instruction(_INTRINSICS, "wider_nodes")
"""wider_nodes(wider, start, low, high, q, first, leaf, parent, first_leaf, last_leaf, unit). The same for the lowest node over
a leaf and the box."""

add_rises = Instruction(_INTRINSICS, "add_rises")
"""add_rises(rise, start, wider, loss, heavy, q, first, weight). rise[start + i] += (wider[start + i] - loss[q, first + i]) *
(heavy[q, first + i] + weight), for 64 groups; nothing where that is negative."""

widen_box = Instruction(_INTRINSICS, "widen_box")
"""widen_box(low, high, weight, start, place, t, own). Let a box include place[t], where that is not negative, and add `own` to
the weights there, for 16 quasi-identifiers from `start` on. Bit i: the box grew in quasi-identifier start + i; bit 16 + i: it
was empty there."""
