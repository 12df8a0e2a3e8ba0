"""What is shown of a run: a progress bar, rejected records, and a summary."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING

from shoal.cli.figures import seconds, share, size
from shoal.cli.terminal import say
from shoal.text import count, short

if TYPE_CHECKING:
    from rich.console import Console
    from rich.panel import Panel
    from rich.progress import Progress as Bars

    from shoal.anonymizer import FilterStats, Rejection, Stats
    from shoal.errors import RejectedError
    from shoal.files import Progress
    from shoal.policy import Policy

_BAR_WIDTH = 28
_SHOWN = 20  # reasons that are printed one by one, each with the first record that has it
_MAIN = 3  # reasons that are repeated in the end, if too many records are rejected
_FIRST = 1.0  # seconds before which nothing is said about the rest


class Bar:
    """The progress of a run: bytes, tuples per second, held, suppressed."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None, figures="")
        self._start = perf_counter()

    def __call__(self, progress: Progress) -> None:
        done, total, stats = progress
        elapsed = max(perf_counter() - self._start, 1e-9)
        rate = stats.received / elapsed
        figures = (size(done, total), f"{short(rate)} tuples/s", *_kept_back(stats), *_left(done, total, elapsed))
        self._bars.update(self._task, completed=done, total=total, figures="  ".join(figures))

    def full(self) -> None:
        done = self._bars.tasks[0].completed
        self._bars.update(self._task, completed=done or 1, total=done or 1)


def _left(done: int, total: int | None, elapsed: float) -> tuple[str, ...]:
    """How long the rest will take, if that can be estimated.

    >>> _left(50, 100, 30.0), _left(0, 100, 1.0), _left(50, None, 3.0)
    (('30 s left',), (), ())
    """
    if not total or not 0 < done < total or elapsed < _FIRST:
        return ()
    return (f"{seconds(max(round(elapsed * (total - done) / done), 1))} left",)


def _kept_back(stats: Stats | FilterStats) -> tuple[str, ...]:
    from shoal.anonymizer import FilterStats

    if isinstance(stats, FilterStats):
        return (f"{count(stats.withheld)} withheld",)
    return f"{count(stats.held)} held", f"{count(stats.suppressed)} suppressed"


@contextmanager
def progress_bar(console: Console) -> Iterator[Bar]:
    """A bar on the console; other output appears above it."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    with Bars(BarColumn(_BAR_WIDTH), TextColumn("{task.fields[figures]}"), console=console) as bars:
        bar = Bar(bars)
        yield bar
        bar.full()


class Rejections:
    """Prints the first record that is rejected for a reason, by its place and never by its value; and the counts at the end."""

    def __init__(self, console: Console, source: str) -> None:
        self._console = console
        self._source = source
        self._kinds: Counter[str] = Counter()

    def __call__(self, rejection: Rejection) -> None:
        self._kinds[rejection.kind] += 1
        if self._kinds[rejection.kind] > 1:
            return
        if len(self._kinds) <= _SHOWN:
            say(self._console, f"{self._source}: {rejection}")
        elif len(self._kinds) == _SHOWN + 1:
            say(self._console, f"{self._source}: records are rejected for further reasons, too; the counts follow at the end")

    def close(self) -> None:
        total = self._kinds.total()
        if total == len(self._kinds) <= _SHOWN:
            return
        say(self._console, f"{self._source}: {count(total)} records rejected:")
        most = self._kinds.most_common(_SHOWN)
        width = len(count(most[0][1]))
        for kind, number in most:
            say(self._console, f"  {count(number):>{width}}  {kind}")
        if rest := total - sum(number for _, number in most):
            say(self._console, f"  {count(rest):>{width}}  for other reasons")


def too_many(console: Console, error: RejectedError) -> None:
    """Say in red that too many records were rejected, and the main reasons, which name their remedies."""
    say(console, str(error), "bold red")
    reasons = Counter(error.stats.reasons)
    for kind, number in reasons.most_common(_MAIN):
        say(console, f"  {share(number, error.stats.received)}: {kind}", "red")
    say(console, "Correct the input or the policy as the reasons say, and run again; or allow more with --max-rejected.", "red")


def as_json(
    policy: str, source: str, target: str, stats: Stats | FilterStats, elapsed: float, refused: RejectedError | None
) -> str:
    """The figures of a run as JSON; reasons hold no values."""
    reasons = [{"reason": kind, "count": number} for kind, number in Counter(stats.reasons).most_common()]
    output = refused.draft if refused else target
    found = {
        "policy": policy, "input": source, "output": output, "is_draft": refused is not None, "seconds": round(elapsed, 3),
        **asdict(stats), "reasons": reasons,
    }  # fmt: skip
    return json.dumps(found, indent=2, ensure_ascii=False)


def summary(policy: Policy, stats: Stats | FilterStats, elapsed: float) -> Panel:
    """A panel of the main figures of a run."""
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

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
    longer = "waited longer, because fewer than k persons were there"
    return [
        ("tuples", count(stats.released), f"in {seconds(elapsed)}"),
        ("OUTSIDE k" if stats.suppressed else "outside k", share(stats.suppressed, stats.released), _outside(policy)),
        ("tuples per second", count(stats.released / max(elapsed, 1e-9)), ""),
        ("loss", f"{stats.loss:.3f}", "0: unchanged, 1: nothing left"),
        *([("in doubt", f"{100 * stats.doubt:.1f} %", 'of the values say "or missing"')] if stats.doubt else []),
        *([("withheld", count(stats.withheld), "sensitive values of groups without l or t")] if stats.withheld else []),
        ("smallest group", "none" if smallest is None else f"{count(smallest)} persons", f"promised: {k}"),
        ("longest wait", "none" if longest is None else _wait(longest, timed), f"promised: {promised}"),
        *([("stretched", share(stats.stretched, stats.released), longer)] if policy.stretch > 1 else []),
        ("reused", share(stats.reused, stats.released), "show an earlier group's generalization"),
        ("rejected", share(stats.rejected, stats.received), "do not fit the policy"),
        *_over_budget(policy, stats),
        *_drifted(stats),
    ]


_OUTSIDE = {"blank": "they show no value", "publish": "they show their values", "drop": "they are dropped"}


def _outside(policy: Policy) -> str:
    return f"no group in time; {_OUTSIDE[policy.suppressed]}"


def outside(policy: Policy, stats: Stats | FilterStats) -> list[str]:
    """Lines about rows outside k, and records beyond a budget, for runs without a summary; none if there are none."""
    from shoal.anonymizer import FilterStats

    if isinstance(stats, FilterStats):
        return []
    rows = f"{share(stats.suppressed, stats.released)} rows are OUTSIDE k: suppressed, {_outside(policy)}"
    beyond = [f"{number} records are beyond the budget {meaning}" for _, number, meaning in _over_budget(policy, stats)]
    return [*([rows] if stats.suppressed else []), *(beyond if stats.over_budget else [])]


_BEYOND = {"drop": "of releases: left out", "withhold": "of releases: without sensitive values"}


def _over_budget(policy: Policy, stats: Stats) -> list[tuple[str, str, str]]:
    if policy.releases is None:
        return []
    return [("beyond budget", share(stats.over_budget, stats.received), _BEYOND[policy.releases.beyond])]


def singled_out(policy: Policy, stats: Stats | FilterStats) -> list[str]:
    """Lines about rows below k with the kept fields that count, and about each field whose values single rows out."""
    kept, below = getattr(stats, "kept", {}), getattr(stats, "below_k", None)
    lines = []
    if below and below.rows:
        about, fields = "" if below.exact else "about ", " and ".join(f"'{name}'" for name in policy.counted)
        are, them = ("they are", "them") if len(policy.counted) > 1 else ("it is", "it")
        look = f"{about}{share(below.rows, below.of)} rows look like fewer than {policy.privacy.k} persons"
        lines.append(f"with {fields}, published as {are}, {look}: no group hides {them}")
    for name, found in kept.items():
        if found.rows:
            reason = policy.reasons[name]
            why = f"accepted, because: {reason}" if reason else "no group hides them"
            about = "" if found.exact else "about "
            few = f"a value that fewer than {policy.privacy.k} persons have"
            lines.append(f"'{name}' singles rows out: {about}{share(found.rows, found.of)} have {few}; {why}")
    return lines


def _observed(stats: FilterStats, elapsed: float) -> list[tuple[str, str, str]]:
    taken = stats.released + stats.withheld
    return [
        ("observations", count(taken), f"in {seconds(elapsed)}"),
        ("observations per second", count(taken / max(elapsed, 1e-9)), ""),
        ("released", share(stats.released, taken), "at least z users exposed the item"),
        ("generalized", share(stats.generalized, taken), "of these, as an ancestor of the item"),
        ("withheld", share(stats.withheld, taken), "fewer than z users exposed it"),
        ("rejected", share(stats.rejected, stats.received), "do not fit the policy, or too late"),
        *_drifted(stats),
    ]


def _drifted(stats: Stats | FilterStats) -> list[tuple[str, str, str]]:
    lines = [("new fields", count(stats.drift.new), "appeared later, and are ignored")] if stats.drift.new else []
    absent = [(name, share(number, stats.received)) for name, number in stats.drift.absent.items()]
    return lines + [(f"without '{name}'", part, "the field was absent, and counts as missing") for name, part in absent]


def _z(stats: FilterStats) -> str:
    return "not known yet" if stats.z is None else count(stats.z)


def deadline(policy: Policy) -> str:
    """The longest wait that the policy allows."""
    from shoal.algorithms import algorithm

    longest = algorithm(policy).deadline
    return "none" if math.isinf(longest) else _wait(longest, policy.window.timed)


def _wait(longest: float, timed: bool) -> str:
    return seconds(longest) if timed else f"{count(longest)} arrivals"


def drift(stats: Stats | FilterStats) -> list[str]:
    """Lines about new and absent fields, for runs without a summary."""
    new, absent = stats.drift.new, stats.drift.absent
    lines = [f"{count(new)} new field{'' if new == 1 else 's'} appeared later, and {'is' if new == 1 else 'are'} ignored"]
    return [
        *(lines if new else []),
        *(f"'{name}': was absent in {share(number, stats.received)} of the records" for name, number in absent.items()),
    ]


def faults(stats: Stats | FilterStats) -> list[str]:
    """Lines about releases that the door stopped; only a faulty algorithm causes them."""
    stopped = getattr(stats, "faults", {})
    return [
        f"a fault of the algorithm: {count(number)} releases were {name.replace('_', ' ')}; please report it"
        for name, number in stopped.items()
    ]
