"""The report of an audit, on a terminal and in a pipe: the verdict first, then its three questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.audit import Exposure, FilterReport, Finding, Verdict, WindowReport, percent, promised, worst
from shoal.cli.figures import seconds, share
from shoal.cli.terminal import say
from shoal.text import count, counted

if TYPE_CHECKING:
    from shoal.audit import Advice, Reading, Report

PROMISES = "1. Were the promises of the policy kept?"
OUTSIDER = "2. What can an outsider still do?"
DATA = "3. What is left of the data?"
_COLOURS = {"green": "bold green", "amber": "bold yellow", "red": "bold red"}
_STYLES = {Verdict.HELD: "bold green", Verdict.BROKEN: "bold red", Verdict.NOT_CHECKABLE: "yellow", Verdict.NOT_PROMISED: "dim"}
_CHECKED = {
    "diversity": "values", "closeness": "values", "support": "rows", "sets": "values", "blocks": "values", "bags": "values",
    "true": "rows", "alike": "rows", "unaltered": "values", "silent": "values",
    "exact": "observations", "in order": "rows", "pseudonyms": "rows",
}  # fmt: skip
_TOLD = ("k persons", "z users", "once", "in time", "diversity", "closeness")  # promises that always have a row there
_SHOWN = 6  # attacks on a terminal
_VIOLATIONS = 2  # of each promise, on a terminal
_BROKEN = 3  # promises whose violations are shown there
_ADVICE = 2  # recommendations there
_REST = "the rest"


def in_tables(report: Report, target: str, console: Console) -> None:
    """For people: what fits on a screen, the verdict first, then the worst."""
    headline = report.headline
    say(console, f"{headline.colour.upper()}  {target}: {headline.text}.", _COLOURS[headline.colour])
    if headline.outside:
        say(console, headline.outside, "bold" if "OUTSIDE" in headline.outside else "")
    if isinstance(report, WindowReport) and (first := worst(report)):
        say(console, f"Worst attack: {first.label}: {tried(first)}", "bold" if first.is_worse else "")
    console.print(Text(f"\n{PROMISES}  {_kept(report)}", "bold"))
    console.print(Padding(_promises(report), (0, 0, 0, 3)))
    broken = [each for each in report.promises if each.violations]
    for finding in broken[:_BROKEN]:
        for line in violations(finding, _VIOLATIONS):
            console.print(Padding(Text(f"{finding.promise}: {line}", "red", no_wrap=True, overflow="ellipsis"), (0, 0, 0, 5)))
    console.print(Text(f"\n{OUTSIDER}  {_worst(report)}", "bold"))
    if isinstance(report, WindowReport):
        console.print(Padding(_exposed(report), (0, 0, 0, 3)))
        console.print(Text(f"{DATA}  {data(report)}", "bold"))
    for line in attacked(report):
        say(console, f"   {line}")
    for each in report.advice[: 1 if broken else _ADVICE]:
        say(console, f"Recommended: {advised(each)}")


def _promises(report: Report) -> Table:
    """What is not held, and what was found of the rest; what is held and needs no word is named in one row."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    names = [*(each.promise for each in report.promises), _REST]
    table.add_column(style="bold", no_wrap=True, min_width=max(map(len, names)))
    table.add_column(no_wrap=True, min_width=max(len(each.verdict) for each in report.promises))
    table.add_column(no_wrap=True, overflow="ellipsis")
    silent = [each for each in report.promises if each.verdict == Verdict.HELD and not each.note and each.promise not in _TOLD]
    for finding in sorted(report.promises, key=_urgency):
        if finding not in silent:
            table.add_row(finding.promise, Text(finding.verdict, _STYLES[finding.verdict]), Text(found(report, finding)))
    if silent:
        table.add_row(_REST, Text("held", _STYLES[Verdict.HELD]), Text(", ".join(each.promise for each in silent)))
    return table


def advised(each: Advice) -> str:
    """A recommendation in one line."""
    return f"{each.because}: {each.do}{f'; {each.cost}' if each.cost else ''}"


def in_lines(report: Report, target: str, console: Console) -> None:
    """For pipes: everything, a line each, the verdict first."""
    headline = report.headline
    say(console, f"{headline.colour}: {target}: {headline.text}")
    if headline.outside:
        say(console, headline.outside)
    say(console, f"{PROMISES} {_kept(report)}")
    for finding in report.promises:
        text = found(report, finding)
        say(console, f"{finding.verdict}: {finding.promise}{f': {text}' if text else ''}")
        for line in violations(finding):
            say(console, f"{finding.promise}: {line}")
    say(console, f"{OUTSIDER} {_worst(report)}")
    if isinstance(report, WindowReport):
        for each in report.exposures:
            say(console, f"{each.kind}: {each.label}: {tried(each)}")
        for name, reason in report.whole.reasons.items():
            say(console, f"not counted: '{name}', because: {reason}")
        for reading, each_reading in report.nulls.items():
            unit = report.unit.removesuffix("s") if each_reading.smallest == 1 else report.unit
            smallest = f"smallest class {size(each_reading)} {unit}"
            below = share(each_reading.below, each_reading.shown)
            mark = ", as promised" if reading == promised(report.policy) else ""
            say(console, f"nulls: {reading} match{mark}: {smallest}, {below} rows below k")
        say(console, f"{DATA} {data(report)}")
    for line in attacked(report):
        say(console, line)
    for each_advice in report.advice:
        say(console, f"recommended: {advised(each_advice)}")


def tried(each: Exposure) -> str:
    """What came of an attack, in one line."""
    if each.success is None:
        return each.obstacle
    calm = "worse than chance, as accepted" if each.is_tolerated else "no worse"
    mark = "FAILS" if each.fails else "worse than chance" if each.is_worse else calm
    accepted = "" if each.accepted is None else f", accepted {percent(each.accepted)}"
    detail = f"; {each.detail}" if each.detail else ""
    return f"right in {percent(each.success)}, by chance in {percent(each.chance)}{accepted}: {mark}{detail}"


def data(report: WindowReport) -> str:
    """What is left of the data, in one line."""
    use = report.figures.utility
    parts = [f"mean loss {use.loss.mean:.3f} (0: unchanged, 1: nothing left)"]
    if use.doubt:
        parts.append(f"{percent(use.doubt)} of the values in doubt")
    if use.answers.pairs:
        parts.append(f"counts with two conditions are off by {percent(use.answers.pair_median)} in the median")
    return "; ".join(parts)


def violations(finding: Finding, most: int | None = None) -> list[str]:
    """A line for each violation that is kept, and one for the rest."""
    lines = [str(each) for each in finding.violations[:most]]
    more = finding.broken - len(lines)
    return [*lines, f"and {count(more)} more"] if more else lines


def found(report: Report, finding: Finding) -> str:
    """What a check found, in one line."""
    figures = finding.figures
    parts: list[str] = []
    if finding.verdict == Verdict.BROKEN:
        parts.append(counted(finding.broken, "violation"))
    if finding.promise == "k persons" and figures.get("smallest"):
        fewest = figures.get("floor", figures["smallest"])
        kind = f"group of {counted(fewest, 'person')}" if "groups" in figures else f"class of at least {counted(fewest, 'row')}"
        parts.append(f"smallest {kind}, k = {figures['k']}")
    if finding.promise == "z users" and figures.get("smallest") is not None:
        least = "z" if figures["fixed"] else "floor"
        parts.append(f"at least {counted(figures['smallest'], 'user')} at a release, {least} = {figures['z']}")
    if finding.promise == "once":
        parts.append(f"{count(figures['accepted'])} accepted, {count(figures['released'])} released")
        if figures.get("dropped") is not None:
            parts.append(f"{count(figures['dropped'])} suppressed and dropped")
    if finding.promise == "in time" and figures.get("longest") is not None:
        parts.append(waited(figures["longest"], figures["deadline"], figures["unit"]))
    if finding.promise in _CHECKED and finding.checked:
        parts.append(f"{count(finding.checked)} {_CHECKED[finding.promise]} checked")
    if finding.promise == "true" and figures.get("imputed"):
        parts.append(f"{count(figures['imputed'])} values imputed")
    return "; ".join(filter(None, [", ".join(parts), finding.note]))


def waited(longest: float, deadline: float | None, unit: str) -> str:
    """The longest wait, by the stream's own clock, which moves only when a record arrives.

    >>> waited(128, 120, "seconds")
    'longest wait: left at the first record after its deadline of 2 min, 8 s later'
    """
    if deadline is None:
        return f"longest wait {_wait(longest, unit)}"
    if longest > deadline:
        later = _wait(longest - deadline, unit)
        return f"longest wait: left at the first record after its deadline of {_wait(deadline, unit)}, {later} later"
    return f"longest wait {_wait(longest, unit)}, deadline {_wait(deadline, unit)}"


def attacked(report: Report) -> list[str]:
    """One line per attack on pseudonyms that was run, under z-anonymity."""
    tried = report.figures.attacks if isinstance(report, FilterReport) else ()
    return [
        f"attack: {each.name}: right in {percent(each.success)} of {count(each.tried)}, by chance in {percent(each.baseline)}"
        for each in tried
        if each.success is not None and each.baseline is not None
    ]


def size(reading: Reading) -> str:
    """The size of the smallest class, as far as it is certain."""
    certain = reading.floor == reading.smallest
    return count(reading.smallest) if certain else f"{count(reading.floor)} to {count(reading.smallest)}"


def _kept(report: Report) -> str:
    by = {verdict: sum(each.verdict == verdict for each in report.promises) for verdict in Verdict}
    parts = [f"{number} {verdict}" for verdict, number in by.items() if number]
    return f"{'No' if by[Verdict.BROKEN] else 'Yes' if not by[Verdict.NOT_CHECKABLE] else 'As far as seen'}: {', '.join(parts)}"


def _worst(report: Report) -> str:
    if not isinstance(report, WindowReport):
        return "Attacks on pseudonyms:" if attacked(report) else "No attack was tried."
    worse = sum(each.is_worse for each in report.exposures)
    untried = sum(each.success is None or not each.tried for each in report.exposures)
    if untried == len(report.exposures):
        return "No attack could be tried."
    first = (
        f"{worse} of {len(report.exposures) - untried} attacks are worse than their bound" if worse else "No more than chance"
    )
    return first + (f"; {untried} could not be tried" if untried else "")


def _exposed(report: WindowReport) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("attack", "what it does", "right", "by chance", "bound"):
        table.add_column(name, justify="right" if name in ("right", "by chance", "bound") else "left", no_wrap=True)
    done = [each for each in report.exposures if each.success is not None]
    for each in done[:_SHOWN]:
        style = "bold red" if each.fails else "bold yellow" if each.is_worse else ""
        bound = f"{percent(each.bound)}{'' if each.accepted is None else ' *'}"
        row = (each.label, each.kind, percent(each.success), percent(each.chance), bound)
        table.add_row(*(Text(cell, style) for cell in row))
    rest = done[_SHOWN:]
    worse = sum(each.is_worse for each in rest)
    notes = [f"and {worse} more that are worse" if worse else f"and {len(rest)} that are no worse"] if rest else []
    notes += ["* accepted by the policy"] if any(each.accepted is not None for each in done) else []
    if len(done) < len(report.exposures):
        notes.append(f"{len(report.exposures) - len(done)} could not be tried")
    if report.whole.reasons:
        notes.append(f"not counted, by the policy's reasons: {', '.join(report.whole.reasons)}")
    table.caption = Text("; ".join(notes))
    table.caption_justify = "left"
    return table


def _urgency(finding: Finding) -> int:
    order = (Verdict.BROKEN, Verdict.NOT_CHECKABLE, Verdict.HELD, Verdict.NOT_PROMISED)
    return order.index(finding.verdict)


def _wait(length: float, unit: str) -> str:
    return seconds(length) if unit == "seconds" else counted(length, "arrival")
