from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from shoal.conformance.naive.common import Algorithm, Arrival, Categorical, Numeric, Release, Sets, Tick
from shoal.conformance.naive.measures import Doubtful
from shoal.conformance.naive.promises import Demand

from .castle import Castle
from .fads import Fads
from .fast import Fast
from .idea import Idea
from .iot import Iot
from .kvarp import Kvarp
from .tide import Tide
from .xband import Xband

__all__ = [
    "ALGORITHMS", "Algorithm", "Arrival", "Categorical", "Demand", "Doubtful", "Numeric", "Release", "Sets", "Tick", "simulate",
]  # fmt: skip

ALGORITHMS: dict[str, type[Algorithm]] = {
    "fads": Fads,
    "iot": Iot,
    "kvarp": Kvarp,
    "idea": Idea,
    "xband": Xband,
    "castle": Castle,
    "fast": Fast,
    "tide": Tide,
}


def simulate(
    name: str,
    attributes: Sequence[Numeric | Categorical | Sets],
    k: int,
    window: tuple[str, float],
    events: Iterable[Arrival | Tick],
    **parameters: Any,
) -> list[Release]:
    return ALGORITHMS[name](attributes, k, window, **parameters).run(events)
