"""What is measured: algorithms with their parameters, and the sizes of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError
from shoal.policy import WINDOWED

_VARIANTS: Mapping[str, tuple[str, Sequence[Any]]] = {"xband": ("band", (4, 10)), "tide": ("effort", ("quick", "thorough"))}


@dataclass(frozen=True)
class Variant:
    """An algorithm with its parameters."""

    label: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    @property
    def algorithm(self) -> dict[str, Any]:
        """As a policy writes it."""
        return {"name": self.name, **self.parameters}


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The sizes and parameters of a benchmark; the defaults are those that are reported."""

    k: int = 50
    window: int = 2000
    quasi: int = 14
    missing: int = 3
    nulls_match: str = "maybe"  # as in the papers
    seed: int = 0
    batch: int = 65_536
    rounds: int = 5
    small: int = 30_000
    large: int = 3_000_000
    threads: int = 300_000
    growth: int = 100_000
    audited: int = 1_000_000
    windows: Sequence[int] = (500, 1000, 2000, 4000, 8000, 16_000)
    ks: Sequence[int] = (5, 10, 25, 50, 100, 200, 400)
    quasis: Sequence[int] = (2, 4, 6, 8, 10, 12, 14)
    draws: int = 3  # of streams with sensitive values
    twin: int = 2500
    loss_tuples: int = 12_000
    loss_ks: Sequence[int] = (5, 10, 50, 100)
    loss_windows: Sequence[int] = (500, 1000, 2000)
    buffer: int = 256 * 2**20  # bytes, far more than the caches hold
    observations: int = 10_000_000
    users: int = 1_000_000
    items: int = 100_000
    peer: int = 100_000  # observations for the package zanon, which is slower


FULL = Workload()
QUICK = Workload(
    rounds=3, draws=1, large=300_000,
    threads=100_000, growth=30_000, audited=300_000, twin=1000, loss_ks=(10, 50), loss_windows=(1000,),
    observations=2_000_000, peer=30_000,
)  # fmt: skip


def variants(names: Sequence[str] | None = None) -> list[Variant]:
    """The named algorithms, or all: X-BAND with two widths of its band, tide with both efforts.

    >>> [variant.label for variant in variants(["fads", "xband", "tide"])]
    ['fads', 'xband 4', 'xband 10', 'tide quick', 'tide thorough']
    """
    found = []
    for name in WINDOWED if names is None else dict.fromkeys(names):
        if name not in WINDOWED:
            raise InputError(f"algorithm {name!r} is none; known are {', '.join(WINDOWED)}")
        key, values = _VARIANTS.get(name, ("", ()))
        found += [Variant(f"{name} {value}", name, {key: value}) for value in values] or [Variant(name, name)]
    return found
