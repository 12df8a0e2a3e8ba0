"""An entry of the draft: settings with a note, active or left out; and ranges, which show no extreme of the sample."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from typing import NamedTuple

from shoal.config import yaml_scalar
from shoal.text import plain_decimal

CELLS = 20  # about so many grid cells make a range
_DIGITS = 400
_FINEST_WHOLE = Decimal(2)


class Range(NamedTuple):
    """The ends of a range and its grid, as they are written."""

    low: str
    high: str
    grid: str


def rounded_range(lowest: float, highest: float, whole: bool) -> Range | None:
    """A range strictly around two different values, to whole steps of 1, 2 or 5 times a power of ten, or None.

    The step is a twentieth of the spread or a little more, and of whole numbers at least 2, so that an end of the grid
    is hardly ever a person's own value.

    >>> rounded_range(17, 90, True), rounded_range(0.31, 0.74, False)
    (Range(low='15', high='95', grid='5'), Range(low='0.3', high='0.75', grid='0.05'))
    """
    with localcontext(prec=_DIGITS):
        low, high = Decimal(repr(float(lowest))), Decimal(repr(float(highest)))
        step = _nice((high - low) / CELLS)
        if whole:
            step = max(step, _FINEST_WHOLE)
        while True:
            ends = (_below(low, step), _above(high, step))
            if float(ends[0]) < lowest and highest < float(ends[1]):
                break
            step = _nice(step * Decimal("1.5"))
        if not math.isfinite(float(ends[1]) - float(ends[0])) or float(step) == 0:
            return None
        return Range(*(_written(number) for number in (*ends, step)))


def _nice(step: Decimal) -> Decimal:
    """The next of 1, 2 and 5 times a power of ten.

    >>> [str(_nice(Decimal(step))) for step in ("3.65", "0.75", "5", "73000")]
    ['5', '1', '5', '1E+5']
    """
    unit = Decimal(1).scaleb(step.adjusted())
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= step).normalize()


def _below(value: Decimal, step: Decimal) -> Decimal:
    multiple = (value / step).to_integral_value(ROUND_FLOOR)
    return (multiple - (multiple * step == value)) * step


def _above(value: Decimal, step: Decimal) -> Decimal:
    multiple = (value / step).to_integral_value(ROUND_CEILING)
    return (multiple + (multiple * step == value)) * step


def _written(number: Decimal) -> str:
    """A number as YAML reads it back.

    >>> [_written(Decimal(text)) for text in ("1E+5", "-0.30", "1E+30", "2E-9", "-0")]
    ['100000', '-0.3', '1e+30', '2e-9', '0']
    """
    if not number or -6 <= number.adjusted() < 15:
        return plain_decimal(number)
    return str(number.normalize()).lower()


WIDTH = 110


class Entry(NamedTuple):
    """Settings, the reason for them, and whether they are active."""

    note: str
    settings: Sequence[str] = ()
    active: bool = False

    def lines(self, indent: str = "") -> list[str]:
        """The note as a comment, then the settings, behind a `#` if they are inactive."""
        mark = "" if self.active else "#"
        return [*prose(self.note, indent), *(f"{indent}{mark}{line}" for line in self.settings)]


NEXT = "# Next: shoal check POLICY INPUT"


def prose(text: str, indent: str = "") -> list[str]:
    """A comment, wrapped between words."""
    prefix = f"{indent}# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_long_words=False, break_on_hyphens=False
    )


def numeric(name: str, bounds: Range, more: str = "") -> list[str]:
    """The setting of a numeric quasi-identifier.

    >>> numeric("age", Range("15", "95", "5"))
    ['age: {quasi: numeric, range: [15, 95], grid: 5}']
    """
    part = f"{more}, " if more else ""
    return [f"{yaml_scalar(name)}: {{quasi: numeric, {part}range: [{bounds.low}, {bounds.high}], grid: {bounds.grid}}}"]


def categorical(name: str, leaves: Sequence[str], is_open: bool, sets: bool = False) -> list[str]:
    """The settings of a categorical quasi-identifier with a flat tree; `is_open`: other values are expected; `sets`: a group
    shows the set of its values.

    >>> print("\\n".join(categorical("sex", ["f", "m"], True)))
    sex:
      quasi: categorical
      unknown: root
      hierarchy:
        any: [f, m]
    """
    root = "any"
    while root in leaves:
        root = f"{root} value"
    unknown = ["  unknown: root"] if is_open else []
    shown = ["  generalize: set"] if sets else []
    tree = flow(f"    {root}: [", [yaml_scalar(leaf) for leaf in leaves])
    return [f"{yaml_scalar(name)}:", "  quasi: categorical", *unknown, *shown, "  hierarchy:", *tree]


def flow(start: str, items: Sequence[str], end: str = "]") -> list[str]:
    """A YAML list after its start, on as many lines as it needs, aligned with its first item unless that is far right.

    >>> flow("any: [", ["f", "m"])
    ['any: [f, m]']
    """
    indent = len(start) if len(start) <= WIDTH // 2 else len(start) - len(start.lstrip()) + 2
    lines, line = [], start
    for position, item in enumerate(items):
        piece = item + (end if position == len(items) - 1 else ",")
        if len(line) + len(piece) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += piece + " "
    return [*lines, line.rstrip()]
