"""What a run came to, in a few lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from shoal.cli.figures import count, seconds, share

if TYPE_CHECKING:
    from shoal.anonymizer import FilterStats, Stats
    from shoal.policy import Policy


def summary(policy: Policy, stats: Stats | FilterStats, elapsed: float) -> Panel:
    """A panel of the figures that matter."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim")
    from shoal.anonymizer import FilterStats

    if isinstance(stats, FilterStats):
        title, figures = f"{policy.algorithm.name}, z = {_z(stats)}", _observed(stats, elapsed)
    else:
        title, figures = f"{policy.algorithm.name}, k = {policy.privacy.k}", _figures(policy, stats, elapsed)
    for name, figure, meaning in figures:
        grid.add_row(name, Text(figure), Text(meaning))
    return Panel(grid, title=Text(title), title_align="left", expand=False, padding=(0, 2), border_style="cyan")


def _figures(policy: Policy, stats: Stats, elapsed: float) -> list[tuple[str, str, str]]:
    k, timed = policy.privacy.k, policy.window.timed
    smallest, longest, promised = stats.smallest_group, stats.longest_wait, deadline(policy)
    longer = "waited longer, since fewer than k persons were there"
    return [
        ("tuples", count(stats.released), f"in {seconds(elapsed)}"),
        ("tuples a second", count(stats.released / max(elapsed, 1e-9)), ""),
        ("loss", f"{stats.loss:.3f}", "0: as it came, 1: all hidden"),
        ("smallest group", "none" if smallest is None else f"{count(smallest)} persons", f"promised: {k}"),
        ("longest wait", "none" if longest is None else _wait(longest, timed), f"promised: {promised}"),
        *([("stretched", share(stats.stretched, stats.released), longer)] if policy.stretch > 1 else []),
        ("suppressed", share(stats.suppressed, stats.released), "no group in time that holds"),
        ("reused", share(stats.reused, stats.released), "left as an earlier group had"),
        ("rejected", share(stats.rejected, stats.received), "not as the policy says"),
        *_drifted(stats),
    ]


def _observed(stats: FilterStats, elapsed: float) -> list[tuple[str, str, str]]:
    taken = stats.released + stats.withheld
    return [
        ("observations", count(taken), f"in {seconds(elapsed)}"),
        ("observations a second", count(taken / max(elapsed, 1e-9)), ""),
        ("released", share(stats.released, taken), "at least z users exposed the item"),
        ("generalized", share(stats.generalized, taken), "of these, as an ancestor of the item"),
        ("withheld", share(stats.withheld, taken), "fewer than z users did"),
        ("rejected", share(stats.rejected, stats.received), "not as the policy says, or too late"),
        *_drifted(stats),
    ]


def _drifted(stats: Stats | FilterStats) -> list[tuple[str, str, str]]:
    lines = [("new fields", count(stats.drift.new), "came up on the way, and are ignored")] if stats.drift.new else []
    absent = [(name, share(number, stats.received)) for name, number in stats.drift.absent.items()]
    return lines + [(f"without '{name}'", part, "the field was not there, and counts as missing") for name, part in absent]


def _z(stats: FilterStats) -> str:
    return "not known yet" if stats.z is None else count(stats.z)


def deadline(policy: Policy) -> str:
    """The longest that a tuple may wait."""
    from shoal.algorithms import algorithm

    longest = algorithm(policy).deadline
    return "none" if math.isinf(longest) else _wait(longest, policy.window.timed)


def _wait(longest: float, timed: bool) -> str:
    return seconds(longest) if timed else f"{count(longest)} arrivals"


def drift(stats: Stats | FilterStats) -> list[str]:
    """Fields that came and went, for those who see no summary."""
    new, absent = stats.drift.new, stats.drift.absent
    lines = [f"{count(new)} new field{'' if new == 1 else 's'} came up on the way, and {'is' if new == 1 else 'are'} ignored"]
    return [
        *(lines if new else []),
        *(f"'{name}': was not there in {share(number, stats.received)} of the records" for name, number in absent.items()),
    ]


def faults(stats: Stats | FilterStats) -> list[str]:
    """What the door stopped, which only a wrong algorithm brings about."""
    stopped = getattr(stats, "faults", {})
    return [
        f"a fault of the algorithm: {count(number)} releases were {name.replace('_', ' ')}; please report it"
        for name, number in stopped.items()
    ]
