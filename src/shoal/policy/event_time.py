"""The records' own time."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from shoal.policy.part import Part
from shoal.policy.scalar import Name


class Time(Part):
    """The field that holds the event time, and whether it is published."""

    field: Name = Field(description="the field that holds the event time")
    publish: Literal["drop", "keep", "generalize"] = Field(
        default="drop", description="drop, keep, or generalize to buckets of the window's length"
    )
