"""What a run came to, in a few lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from shoal.cli.figures import count, seconds, share

if TYPE_CHECKING:
    from shoal.anonymizer import Stats
    from shoal.policy import Policy


def summary(policy: Policy, stats: Stats, elapsed: float) -> Panel:
    """A panel of the figures that matter."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim")
    for name, figure, meaning in _figures(policy, stats, elapsed):
        grid.add_row(name, Text(figure), Text(meaning))
    title = f"{policy.algorithm.name}, k = {policy.privacy.k}"
    return Panel(grid, title=Text(title), title_align="left", expand=False, padding=(0, 2), border_style="cyan")


def _figures(policy: Policy, stats: Stats, elapsed: float) -> list[tuple[str, str, str]]:
    k, timed = policy.privacy.k, policy.window.timed
    smallest, longest, promised = stats.smallest_group, stats.longest_wait, deadline(policy)
    return [
        ("tuples", count(stats.released), f"in {seconds(elapsed)}"),
        ("tuples a second", count(stats.released / max(elapsed, 1e-9)), ""),
        ("loss", f"{stats.loss:.3f}", "0: as it came, 1: all hidden"),
        ("smallest group", "none" if smallest is None else f"{count(smallest)} persons", f"promised: {k}"),
        ("longest wait", "none" if longest is None else _wait(longest, timed), f"promised: {promised}"),
        ("suppressed", share(stats.suppressed, stats.released), "no group of k persons in time"),
        ("reused", share(stats.reused, stats.released), "left as an earlier group had"),
        ("rejected", share(stats.rejected, stats.received), "not as the policy says"),
    ]


def deadline(policy: Policy) -> str:
    """The longest that a tuple may wait."""
    from shoal.algorithms import algorithm

    longest = algorithm(policy).deadline
    return "none" if math.isinf(longest) else _wait(longest, policy.window.timed)


def _wait(longest: float, timed: bool) -> str:
    return seconds(longest) if timed else f"{count(longest)} arrivals"


def faults(stats: Stats) -> list[str]:
    """What the door stopped, which only a wrong algorithm brings about."""
    return [
        f"a fault of the algorithm: {count(number)} releases were {name.replace('_', ' ')}; please report it"
        for name, number in stats.faults.items()
    ]
