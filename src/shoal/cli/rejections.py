"""Rejected records, told by row and reason and never by value."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rich.console import Console

from shoal.cli.figures import count
from shoal.cli.terminal import say

if TYPE_CHECKING:
    from shoal.columns.rejection import Rejection

SHOWN = 20
REASONS = 20


class Rejections:
    """Prints the first ones as they come and, if there were more, a count for each reason at the end."""

    def __init__(self, console: Console, source: str) -> None:
        self._console = console
        self._source = source
        self._kinds: Counter[str] = Counter()

    def __call__(self, rejection: Rejection) -> None:
        total = self._kinds.total()
        self._kinds[rejection.kind] += 1
        if total < SHOWN:
            self._say(f"{self._source}: {rejection}")
        elif total == SHOWN:
            self._say(f"{self._source}: more records are rejected; their count follows at the end")

    def close(self) -> None:
        total = self._kinds.total()
        if total <= SHOWN:
            return
        self._say(f"{self._source}: {count(total)} records rejected:")
        most = self._kinds.most_common(REASONS)
        width = len(count(most[0][1]))
        for kind, number in most:
            self._say(f"  {count(number):>{width}}  {kind}")
        if rest := total - sum(number for _, number in most):
            self._say(f"  {count(rest):>{width}}  for other reasons")

    def _say(self, line: str) -> None:
        say(self._console, line)
