"""What is measured: algorithms with their parameters, and the sizes of streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError
from shoal.policy import all_windowed

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


def contenders(texts: Sequence[str] | None = None) -> list[Variant]:
    """The variants of these texts; by default all, and FAST also with rounds of a quarter of the longest wait.

    FAST's default round is 6·k tuples, so that it hardly uses a long wait.

    >>> [variant.label for variant in contenders(["fads", "fast:round=25%"])]
    ['fads', 'fast:round=25%']
    """
    found = [variant for text in texts or [*all_windowed(), "fast:round=25%"] for variant in written(text)]
    return list({variant.label: variant for variant in found}.values())


def written(text: str) -> list[Variant]:
    """The variants of a name, or the one that is written with parameters: `NAME:KEY=VALUE:KEY=VALUE`.

    >>> written("xband:band=10:reuse_age=25%")
    [Variant(label='xband:band=10:reuse_age=25%', name='xband', parameters={'band': 10, 'reuse_age': '25%'})]
    >>> [variant.label for variant in written("tide")]
    ['tide quick', 'tide thorough']
    """
    name, *pairs = text.strip().split(":")
    if not pairs:
        return variants([name])
    variants([name])
    parameters = dict(pair.partition("=")[::2] for pair in pairs)
    return [Variant(text.strip(), name, {key: _number(value) for key, value in parameters.items()})]


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def variants(names: Sequence[str] | None = None) -> list[Variant]:
    """The named algorithms, or all: X-BAND with two widths of its band, tide with both efforts.

    >>> [variant.label for variant in variants(["fads", "xband", "tide"])]
    ['fads', 'xband 4', 'xband 10', 'tide quick', 'tide thorough']
    """
    found, known = [], all_windowed()
    for name in known if names is None else dict.fromkeys(names):
        if name not in known:
            raise InputError(f"algorithm {name!r} is none; known are {', '.join(known)}")
        key, values = _VARIANTS.get(name, ("", ()))
        found += [Variant(f"{name} {value}", name, {key: value}) for value in values] or [Variant(name, name)]
    return found
