"""The report of an audit, on a terminal and in a pipe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from shoal.audit import FilterReport, Finding, Verdict, WindowReport, promised
from shoal.cli.figures import count, seconds, share
from shoal.cli.terminal import say
from shoal.text import counted

if TYPE_CHECKING:
    from shoal.audit import Reading, Report

_STYLES = {Verdict.HELD: "bold green", Verdict.BROKEN: "bold red", Verdict.NOT_CHECKABLE: "yellow", Verdict.NOT_PROMISED: "dim"}
_CHECKED = {
    "diversity": "values", "closeness": "values", "support": "rows",
    "true": "rows", "alike": "rows", "unaltered": "values", "silent": "values",
    "exact": "observations", "in order": "rows", "pseudonyms": "rows",
}  # fmt: skip
_ATTACKS = ("null pattern", "end points")
_NULLS = {"basic": "a null matches nothing", "extended": "a null matches nulls", "maybe": "a null matches everything"}


def in_tables(report: Report, target: str, console: Console) -> None:
    """For people: the promises, what broke them, and the readings of nulls."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="")
    table.add_column("promise", style="bold", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("found")
    for finding in report.promises:
        table.add_row(finding.promise, Text(finding.verdict, _STYLES[finding.verdict]), Text(found(report, finding)))
    console.print(table)
    for finding in report.promises:
        if finding.violations:
            console.print(Text.assemble((f"{finding.promise}: ", "bold red"), finding.says))
            for line in violations(finding):
                console.print(Padding(Text(line), (0, 0, 0, 2)))
            console.print()
    if isinstance(report, WindowReport):
        console.print(_nulls(report))
    for line in attacked(report):
        console.print(Text(line))
    say(console, verdict(report, target), "bold green" if report.held else "bold red")


def in_lines(report: Report, target: str, console: Console) -> None:
    """For pipes: one line per promise and per violation."""
    for finding in report.promises:
        text = found(report, finding)
        say(console, f"{finding.verdict}: {finding.promise}{f': {text}' if text else ''}")
        for line in violations(finding):
            say(console, f"{finding.promise}: {line}")
    if isinstance(report, WindowReport):
        for reading, each in report.nulls.items():
            unit = report.unit.removesuffix("s") if each.smallest == 1 else report.unit
            smallest = f"smallest class {size(each)} {unit}"
            say(console, f"nulls: {reading} match: {smallest}, {share(each.below, each.shown)} rows below k")
    for line in attacked(report):
        say(console, line)
    say(console, verdict(report, target))


def verdict(report: Report, target: str) -> str:
    """The last line."""
    broken = [finding.promise for finding in report.promises if finding.verdict == Verdict.BROKEN]
    if broken:
        return f"{target}: {counted(len(broken), 'promise')} broken: {', '.join(broken)}"
    open_ones = [finding.promise for finding in report.promises if finding.verdict == Verdict.NOT_CHECKABLE]
    if open_ones:
        return f"{target}: no promise broken; not checkable: {', '.join(open_ones)}"
    return f"{target}: every promise held"


def violations(finding: Finding) -> list[str]:
    """A line for each violation that is kept, and one for the rest."""
    lines = [str(each) for each in finding.violations]
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
    if finding.promise == "in time" and figures.get("longest") is not None:
        parts.append(f"longest wait {_wait(figures['longest'], figures['unit'])}")
        if figures["deadline"] is not None:
            parts.append(f"deadline {_wait(figures['deadline'], figures['unit'])}")
    if finding.promise in _CHECKED and finding.checked:
        parts.append(f"{count(finding.checked)} {_CHECKED[finding.promise]} checked")
    if finding.promise == "true" and figures.get("imputed"):
        parts.append(f"{count(figures['imputed'])} values imputed")
    return "; ".join(filter(None, [", ".join(parts), finding.note]))


def attacked(report: Report) -> list[str]:
    """One line per attack that was run: under z-anonymity on pseudonyms, else on null patterns and the ends of intervals."""
    tried = report.figures.attacks if isinstance(report, FilterReport | WindowReport) else ()
    found = [attack for attack in tried if isinstance(report, FilterReport) or attack.name in _ATTACKS]
    found = [attack for attack in found if attack.success is not None and attack.baseline is not None]
    return [
        f"attack: {each.name}: right in {each.success:.1%} of {count(each.tried)}, "
        f"{'without it' if each.name == 'null pattern' else 'by chance'} in {each.baseline:.1%}"
        f"{f'; {each.detail}' if each.name in _ATTACKS and each.detail else ''}"
        for each in found
    ]


def size(reading: Reading) -> str:
    """The size of the smallest class, as far as it is certain."""
    certain = reading.floor == reading.smallest
    return count(reading.smallest) if certain else f"{count(reading.floor)} to {count(reading.smallest)}"


def _wait(length: float, unit: str) -> str:
    return seconds(length) if unit == "seconds" else counted(length, "arrival")


def _nulls(report: WindowReport) -> Table:
    table = Table(
        title=Text("Classes of rows that look alike, by the reading of nulls"), title_justify="left", title_style="bold",
        box=SIMPLE_HEAD, pad_edge=False, header_style="",
    )  # fmt: skip
    table.add_column("reading")
    table.add_column("meaning", style="dim")
    table.add_column(f"smallest, {report.unit}", justify="right")
    table.add_column(f"rows below k = {report.policy.privacy.k}", justify="right")
    for reading, each in report.nulls.items():
        mark = " *" if reading == promised(report.policy) else ""
        table.add_row(reading + mark, _NULLS[reading], size(each), share(each.below, each.shown))
    table.caption = Text("* the policy's own; suppressed rows are no class")
    table.caption_justify = "left"
    return table
