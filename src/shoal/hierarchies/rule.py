"""What every builder is: a rule that gives the ancestors of any value, and perhaps a range of values."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, ClassVar

from shoal.errors import PolicyError

MOST = 1_000_000  # the most leaves of a range
LARGEST, FINEST = Decimal("1e15"), Decimal("1e-12")
"""Numbers are below the first, and divisors at least the second: then whole quotients are exact."""


class Unfit(ValueError):
    """A value that has no place in the hierarchy; the message gives the reason, never the value."""


class Rule(ABC):
    """The levels above a value, finest first, and the values of a range."""

    NAME: ClassVar[str]
    KEYS: ClassVar[Mapping[str, Mapping[str, Any]]]  # the keys it takes, each with its JSON schema
    EXAMPLE: ClassVar[str]

    @abstractmethod
    def __init__(self, written: Mapping[str, Any]) -> None:
        """Raises `PolicyError` for settings that cannot be used."""

    @abstractmethod
    def above(self, value: str) -> list[str]:
        """The ancestors of a value below the root; raises `Unfit`."""

    @abstractmethod
    def leaves(self) -> Iterable[str] | None:
        """The values of the range; None if there is no range."""


def number(value: object) -> Decimal:
    """A number below 1e15, exactly as it is written.

    >>> number(0.1), number(" 5 ")
    (Decimal('0.1'), Decimal('5'))
    """
    try:
        found = Decimal(str(value).strip()) if not isinstance(value, bool) else None
    except InvalidOperation:
        found = None
    if found is None or not found.is_finite() or abs(found) >= LARGEST:
        raise Unfit("is no number below 1e15")
    return found


def listed(value: object) -> list[Any]:
    """The entries of a list; an empty list for anything else."""
    return list(value) if isinstance(value, list | tuple) else []


def sizes(written: Mapping[str, Any], what: str, example: str) -> list[Decimal]:
    """The sizes of the cells at each level; each is a multiple of the one before."""
    levels = written.get("levels")
    if not isinstance(levels, list | tuple) or not levels:
        raise PolicyError([f"levels: is missing; list {what}, finest first, such as {example}"])
    try:
        found = [number(level) for level in levels]
    except Unfit:
        raise PolicyError([f"levels: is no list of numbers; write {what}, finest first, such as {example}"]) from None
    if found[0] < FINEST or any(high <= low or high % low for low, high in pairwise(found)):
        needed = "each must be at least 1e-12 and a multiple of the one before"
        raise PolicyError([f"levels: {needed}; otherwise the nodes make no tree"])
    return found


def step(written: Mapping[str, Any], usual: object, between: str) -> Decimal:
    """The distance between two values of a range."""
    try:
        found = number(written.get("step", usual))
    except Unfit:
        found = Decimal(0)
    if found < FINEST:
        raise PolicyError([f"step: is not from 1e-12 on; give the distance between two {between}"])
    return found


def few(count: int | Decimal) -> None:
    """Raise if a range has too many values."""
    if count > MOST:
        raise PolicyError([f"range: has more than {MOST:,} values; narrow it, or list those that occur under values"])
