"""Compiled functions: the decorators of kernels with their cache, and single machine instructions for them."""

from shoal.compiled.cache import forget_old, inlined, inner, is_compiled, kernel, spelled_out
from shoal.compiled.intrinsics import (
    COLUMNS,
    COPIED,
    ENTRIES,
    add_losses,
    copy,
    ends,
    first_one,
    float_of,
    give_back,
    popcount,
    prefetch,
    seized,
    step_aside,
    up_to,
    word,
)

__all__ = [
    "COLUMNS", "COPIED", "ENTRIES", "add_losses", "copy", "ends", "first_one", "float_of", "forget_old", "give_back",
    "inlined", "inner", "is_compiled", "kernel", "popcount", "prefetch", "seized", "spelled_out", "step_aside", "up_to",
    "word",
]  # fmt: skip
