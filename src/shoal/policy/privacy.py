"""What is promised."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from shoal.policy.diversity import Diverse
from shoal.policy.part import Part, refusal
from shoal.policy.scalar import Closeness, Count


class Privacy(Part):
    """Every group counts at least `k` persons, whose sensitive values differ enough.

    How nulls are read decides who is alike: under `extended` and `root` all members of a group show the same, under `maybe`
    each shows null where it had nothing.
    """

    k: Count = Field(description="the fewest persons in a group")
    l: Diverse | None = Field(
        default=None, description="how much the sensitive values of a group differ: 3, {entropy: 3} or {recursive: [c, l]}"
    )
    t: Closeness | None = Field(
        default=None, description="how far the sensitive values of a group may be from those of all: 0 to 1"
    )
    nulls_match: Literal["extended", "root", "maybe"] = Field(
        default="extended",
        description="extended: all of a group show the same nulls; root: the root instead; maybe: each its own",
    )
    min_support: Count = Field(
        default=1, description="under maybe: what fewer persons of the group have is published as the root"
    )

    @model_validator(mode="after")
    def _fits(self) -> Privacy:
        if self.min_support > 1 and self.nulls_match != "maybe":
            raise refusal(("min_support", f"is for maybe; under {self.nulls_match} all of a group have it, remove it"))
        if self.min_support > self.k:
            raise refusal(("min_support", f"is above k={self.k}: nothing could be shown; use at most {self.k}"))
        return self
