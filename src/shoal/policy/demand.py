"""What is asked of one sensitive attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from shoal.policy.diversity import Diversity


class Demand(NamedTuple):
    name: str
    l: Diversity | None
    t: float | None
    distribution: Mapping[str, float] | None  # None: that of the accepted input so far
