"""What policies and the audit must know about the algorithms of this package. It loads no engine."""

from __future__ import annotations

from pydantic import Field

from shoal.config import Count
from shoal.policy import Registered

__all__ = ["Queue", "Tight"]


class Tight(Registered):
    """Tight: the tuple that is due leaves with those that raise the loss of the group least."""

    engine = "shoal_example.tight"
    page = "https://example.org/tight"

    tried: Count = Field(default=40, description="how many of the nearest tuples are tried", examples=[1, 5, 40])


class Queue(Registered):
    """Queue: the tuple that is due leaves with the next oldest of k-1 other persons."""

    engine = "shoal_example.queue"
    page = "https://example.org/queue"
    twin = "shoal_example.twins:Queue"
