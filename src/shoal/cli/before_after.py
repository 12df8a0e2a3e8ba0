"""A few tuples before and after."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

from rich.table import Table

SHOWN = 5
_NOTHING = "·"
_AFTER = "   →"


def before_after(source: Path, target: Path, trace: Path, hidden: str, time: str, gap: int) -> Table:
    """Tuples as they came and, after an arrow, as they left; `hidden` is the person, `time` the field of the time."""
    places = _spread(_lines(trace), SHOWN)
    after = _picked(target, places)
    rows = [json.loads(line)["row"] for line in _picked(trace, places)]
    before = dict(zip(sorted(rows), map(json.loads, _picked(source, sorted(rows))), strict=True))
    fields = list(before[rows[0]]) if rows else []
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    for field in fields:
        table.add_column(field, no_wrap=True)
    for row, line in zip(rows, after, strict=True):
        left = {hidden: _AFTER, **json.loads(line)}
        table.add_row(*(_cell(before[row][field], field == time) for field in fields))
        table.add_row(*(_cell(left.get(field), field == time) for field in fields), style="bold cyan")
        table.add_row()
    return table


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for _ in file)


def _spread(count: int, shown: int) -> list[int]:
    """Some places, evenly spaced.

    >>> _spread(100, 4), _spread(2, 4)
    ([12, 37, 62, 87], [0, 1])
    """
    shown = min(count, shown)
    return [(2 * i + 1) * count // (2 * shown) for i in range(shown)]


def _picked(path: Path, places: list[int]) -> list[str]:
    """The lines at these places, which are in order."""
    picked: list[str] = []
    start = 0
    with path.open(encoding="utf-8") as file:
        for place in places:
            picked += islice(file, place - start, place - start + 1)
            start = place + 1
    return picked


def _cell(value: Any, is_time: bool) -> str:
    """
    >>> _cell([30, 40], False), _cell(None, False), _cell("2025-03-01T08:00:10Z", True)
    ('30-40', '·', '08:00:10')
    """
    match value:
        case None:
            return _NOTHING
        case [low, high]:
            ends = [_cell(low, is_time), _cell(high, is_time)]
            return ends[0] if low == high else f"{ends[0]}-{ends[1][3:] if is_time else ends[1]}"
        case {"value": imputed}:
            return _cell(imputed, is_time)
        case str() if is_time:
            return value[11:19]
    return str(value)
