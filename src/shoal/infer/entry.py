"""An entry of the draft: settings with a note, active or left out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from shoal.config import yaml_scalar
from shoal.infer.ranges import Range

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


def prose(text: str, indent: str = "") -> list[str]:
    """A comment, wrapped between words."""
    prefix = f"{indent}# "
    return textwrap.wrap(
        text, WIDTH, initial_indent=prefix, subsequent_indent=prefix, break_long_words=False, break_on_hyphens=False
    )


def numeric(name: str, bounds: Range) -> list[str]:
    """The setting of a numeric quasi-identifier.

    >>> numeric("age", Range("15", "95", "5"))
    ['age: {quasi: numeric, range: [15, 95], grid: 5}']
    """
    return [f"{yaml_scalar(name)}: {{quasi: numeric, range: [{bounds.low}, {bounds.high}], grid: {bounds.grid}}}"]


def categorical(name: str, leaves: Sequence[str], is_open: bool) -> list[str]:
    """The settings of a categorical quasi-identifier with a flat tree; `is_open`: other values are expected.

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
    tree = flow(f"    {root}: [", [yaml_scalar(leaf) for leaf in leaves])
    return [f"{yaml_scalar(name)}:", "  quasi: categorical", *unknown, "  hierarchy:", *tree]


def flow(start: str, items: Sequence[str]) -> list[str]:
    """A YAML list after its start, on as many lines as it needs, aligned with its first item unless that is far right.

    >>> flow("any: [", ["f", "m"])
    ['any: [f, m]']
    """
    indent = len(start) if len(start) <= WIDTH // 2 else len(start) - len(start.lstrip()) + 2
    lines, line = [], start
    for position, item in enumerate(items):
        piece = item + ("]" if position == len(items) - 1 else ",")
        if len(line) + len(piece) > WIDTH and line.strip():
            lines.append(line.rstrip())
            line = " " * indent
        line += piece + " "
    return [*lines, line.rstrip()]
