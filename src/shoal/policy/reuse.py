"""What the reuse set keeps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Reuse:
    """The bounds of a reuse set; `math.inf` where there is none."""

    age: float
    limit: int
    loss: float
