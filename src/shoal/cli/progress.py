"""The progress bar of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bars

from shoal.cli.figures import count, short, size

if TYPE_CHECKING:
    from shoal.anonymizer import FilterStats, Stats
    from shoal.files import Progress

_BAR = 28


class Bar:
    """Shows how far a run has come: bytes, tuples a second, held, suppressed."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None, figures="")
        self._start = perf_counter()

    def __call__(self, progress: Progress) -> None:
        done, total, stats = progress
        rate = stats.received / max(perf_counter() - self._start, 1e-9)
        told = (size(done, total), f"{short(rate)} tuples/s", *_kept_back(stats))
        self._bars.update(self._task, completed=done, total=total, figures="  ".join(told))

    def full(self) -> None:
        done = self._bars.tasks[0].completed
        self._bars.update(self._task, completed=done or 1, total=done or 1)


def _kept_back(stats: Stats | FilterStats) -> tuple[str, ...]:
    from shoal.anonymizer import FilterStats

    if isinstance(stats, FilterStats):
        return (f"{count(stats.withheld)} withheld",)
    return f"{count(stats.held)} held", f"{count(stats.suppressed)} suppressed"


@contextmanager
def shown(console: Console) -> Iterator[Bar]:
    """A bar on the console; whatever else is printed there meanwhile appears above it."""
    with Bars(BarColumn(_BAR), TextColumn("{task.fields[figures]}"), console=console) as bars:
        bar = Bar(bars)
        yield bar
        bar.full()
