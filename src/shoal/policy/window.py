"""How long a tuple may be held."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field, model_validator

from shoal.policy.part import Part, refusal
from shoal.policy.scalar import Count, Span

Kind = Literal["count", "time", "buffer"]
KINDS: tuple[Kind, ...] = ("count", "time", "buffer")


class Window(Part):
    """A deadline in arrivals (`count`) or seconds (`time`), or a number of tuples held (`buffer`).

    >>> window = Window(count=2000)
    >>> window.kind, window.length
    ('count', 2000.0)
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    count: Count | None = Field(default=None, description="the most arrivals a tuple waits")
    time: Span | None = Field(default=None, description="the longest a tuple waits, such as 30s")
    buffer: Count | None = Field(default=None, description="the most tuples held; waiting is not bounded")

    @property
    def kind(self) -> Kind:
        """Which of the three it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def length(self) -> float:
        """Its length on its own clock: arrivals, or seconds under `time`."""
        return float(getattr(self, self.kind))

    @property
    def timed(self) -> bool:
        """Whether its clock counts seconds rather than arrivals."""
        return self.kind == "time"

    @model_validator(mode="after")
    def _one_kind(self) -> Window:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not kinds:
            raise refusal("has no length; write one of count, time and buffer")
        if len(kinds) > 1:
            raise refusal(f"has more than one length ({', '.join(kinds)}); keep one")
        if self.time == 0:
            raise refusal(("time", "is not above 0; use a longer time"))
        return self
