"""What is promised."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shoal.policy.part import Part
from shoal.policy.scalar import Count


class Privacy(Part):
    """Every group counts at least `k` persons, nulls read as any value (`maybe`)."""

    k: Count = Field(description="the fewest persons in a group")
    nulls_match: Literal["maybe"] = Field(default="maybe", description="maybe: a null may stand for any value")
