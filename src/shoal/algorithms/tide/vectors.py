"""Two searches in arrays of any number type, in whole vectors. No bounds are checked: arrays reach to the end of a stride."""

from __future__ import annotations

from shoal.compiled import Instruction

ENTRIES = 64
"""How many entries `up_to` compares, and of how many `least` takes a multiple."""

_INTRINSICS = "shoal.algorithms.tide.vectors_intrinsics"

up_to = Instruction(_INTRINSICS, "up_to")
"""up_to(array, start, limit). Bit i: array[start + i] <= limit, for 64 entries."""

least = Instruction(_INTRINSICS, "least")
"""least(array, entries). The smallest of the first `entries` numbers, a multiple of 64 and not 0; none is NaN."""
