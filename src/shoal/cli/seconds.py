"""Durations as options."""

from __future__ import annotations


def seconds(option: str, text: str) -> float:
    """
    >>> seconds("--late", "5m")
    300.0

    Raises
    ------
    InputError
        It is no duration.
    """
    from pydantic_core import PydanticCustomError

    from shoal.config.model import span
    from shoal.errors import InputError

    try:
        return float(span(text))
    except PydanticCustomError:
        raise InputError(f"{option}: not a duration; write it like 30s, 5m, 2h, 1d") from None
