"""Compiled functions: the decorators of kernels, their machine code, and single machine instructions for them."""

from shoal.compiled.functions import Instruction, inlined, inner, is_compiled, kernel, spelled_out
from shoal.compiled.kinds import Packed
from shoal.compiled.sources import forget_old

__all__ = [
    "COLUMNS", "COPIED", "ENTRIES", "Instruction", "Packed", "add_losses", "copy", "ends", "first_one", "float_of",
    "forget_old", "give_back", "inlined", "inner", "is_compiled", "kernel", "popcount", "prefetch", "seized", "spelled_out",
    "step_aside", "up_to", "word",
]  # fmt: skip

ENTRIES = 64
"""How many entries `up_to` compares."""
COLUMNS = 8
"""How many columns `ends` and `add_losses` process: one cache line."""
COPIED = 32
"""How many bytes `copy` copies."""

_INTRINSICS = "shoal.compiled.intrinsics"

add_losses = Instruction(_INTRINSICS, "add_losses")
copy = Instruction(_INTRINSICS, "copy")
ends = Instruction(_INTRINSICS, "ends")
first_one = Instruction(_INTRINSICS, "first_one")
float_of = Instruction(_INTRINSICS, "float_of")
give_back = Instruction(_INTRINSICS, "give_back")
popcount = Instruction(_INTRINSICS, "popcount")
prefetch = Instruction(_INTRINSICS, "prefetch")
seized = Instruction(_INTRINSICS, "seized")
step_aside = Instruction(_INTRINSICS, "step_aside")
up_to = Instruction(_INTRINSICS, "up_to")
word = Instruction(_INTRINSICS, "word")
