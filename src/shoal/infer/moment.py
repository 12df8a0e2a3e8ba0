"""The records' own time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from shoal.config.yaml_text import quoted_name, yaml_scalar
from shoal.infer.column import Column
from shoal.infer.entry import Entry
from shoal.infer.forms import form
from shoal.infer.words import is_birth, is_time, words

EARLIEST, LATEST = 1e8, 4e9  # seconds since 1970: 1973 to 2096
_USUAL = frozenset({"ts", "time", "timestamp", "datetime", "epoch", "eventtime"})


class Moments(NamedTuple):
    """The field of the time, if one is clear, and what to say about it."""

    name: str | None
    entries: list[Entry]


def moments(columns: Sequence[Column]) -> Moments:
    """The one clear candidate; none if there are none or several."""
    clear = [column.name for column in columns if _is_time(column)]
    usual = [name for name in clear if words(name) & _USUAL]
    best = usual if len(usual) == 1 else clear
    if len(best) == 1:
        note = (
            "The records' own time, by its form and name. Not published; a window of time would use it. A record "
            "without one is rejected."
        )
        return Moments(best[0], [Entry(note, [_setting(best[0])], active=True)])
    if best:
        names = ", ".join(map(quoted_name, best))
        note = f"Several fields hold a time ({names}); a window of arrivals needs none. To use one:"
        return Moments(None, [Entry(note, [_setting(name) for name in best])])
    return Moments(None, [])


def _is_time(column: Column) -> bool:
    if column.nested or not column.known or column.seconds is None or is_birth(column.name):
        return False
    if column.numbers is None:
        return column.is_moment or form(column.values) == "dates"
    return is_time(column.name) and bool(np.all((column.numbers > EARLIEST) & (column.numbers < LATEST)))


def _setting(name: str) -> str:
    return f"time: {{field: {yaml_scalar(name)}, publish: drop}}"
