"""What is filled in on the workbench: a policy as texts, whether they are right or not yet."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from shoal.policy.algorithm import DEFAULT, FILTER

Role = Literal["numeric", "categorical", "sensitive", "keep", "omit"]

Short = Annotated[str, Field(max_length=200)]
Long = Annotated[str, Field(max_length=1_000_000)]


class Entry(BaseModel):
    """One field of the records and what becomes of it; what its role has no use for is kept, and not written."""

    model_config = ConfigDict(extra="forbid")

    name: Short
    role: Role = "omit"
    low: Short = ""
    high: Short = ""
    grid: Short = ""
    clip: bool = Field(default=False, description="draw values outside the range in, instead of rejecting their records")
    tree: Long = Field(default="", description="the hierarchy, a label a line, indented")
    lenient: bool = Field(default=False, description="publish a category that is no leaf as the root")
    note: Long = Field(default="", description="what was found in the sample")


class Sheet(BaseModel):
    """A policy as it is filled in."""

    model_config = ConfigDict(extra="forbid")

    person: Short = Field(default="", description="the field that tells persons apart; empty: every record its own")
    time: Short = Field(default="", description="the field of the records' own time; empty: none")
    publish: Literal["drop", "keep", "generalize"] = Field(default="drop", description="what becomes of the time")
    nulls: list[Short] = Field(default=[""], max_length=100, description="texts that mean missing")
    k: Short = "20"
    window: Short = Field(default="1000", description="arrivals, tuples, or a time such as 30s")
    kind: Literal["count", "time", "buffer"] = "count"
    algorithm: Short = DEFAULT
    item: Short = Field(default="", description="the field of the item, for z-anonymity")
    z: Short = "20"
    span: Short = Field(default="1h", description="how far back z-anonymity counts users")
    fields: list[Entry] = Field(default=[], max_length=2000)
    more: Long = Field(default="", description="any other settings of a policy, as YAML")

    @property
    def is_filter(self) -> bool:
        """Whether it is about items rather than groups."""
        return self.algorithm == FILTER
