"""What most algorithms have in common; one that differs defines its own."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from shoal.policy import Policy

__all__ = ["deadline", "memory"]


def deadline(policy: Policy) -> float:
    """The longest wait that is promised, on the window's clock."""
    return math.inf if policy.window.kind == "buffer" else policy.window.length


def memory(policy: Policy) -> tuple[NDArray[Any], ...]:
    """What the algorithm keeps besides the window and the reuse set: nothing."""
    return ()
