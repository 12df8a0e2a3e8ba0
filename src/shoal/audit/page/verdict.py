"""The verdict on top, and the promises one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.classes import promised
from shoal.audit.finding import Finding, Verdict
from shoal.audit.page.element import Markup, Part, section, tag
from shoal.audit.page.number import count, decimal, percent, plural, sentence, span

if TYPE_CHECKING:
    from shoal.audit.report import Report, WindowReport

_LOOKS = {Verdict.HELD: "held", Verdict.BROKEN: "broken"}
_MARKS = {Verdict.HELD: "✓ ", Verdict.BROKEN: "✕ "}


def banner(report: Report) -> Markup:
    """The verdict in one sentence."""
    broken = [finding.promise for finding in report.promises if finding.verdict == Verdict.BROKEN]
    unknown = [finding.promise for finding in report.promises if finding.verdict == Verdict.NOT_CHECKABLE]
    absent = [finding.promise for finding in report.promises if finding.verdict == Verdict.NOT_PROMISED]
    if broken:
        look, verdict = "broken", f"✕ {plural(len(broken), 'promise')} broken: {', '.join(broken)}"
    elif unknown:
        look, verdict = "open", "Nothing broken, not everything checked"
    else:
        look, verdict = "held", "✓ Every promise held"
    told = [f"{plural(len(report.promises) - len(broken) - len(unknown) - len(absent), 'promise')} held."]
    if unknown:
        told.append(f"Not checkable from these files: {', '.join(unknown)}.")
    if absent:
        told.append(f"Not promised by this policy: {', '.join(absent)}.")
    told.append("What no promise covers stands under “What is not protected”.")
    return tag("div", tag("strong", verdict), tag("p", " ".join(told)), class_=f"verdict {look}", role="status")


def facts(report: WindowReport) -> Markup:
    """The few numbers that everybody asks for."""
    policy, rows, use = report.policy, report.rows, report.figures.utility
    waits = report["in time"].figures
    smallest = report.nulls[promised(policy)].smallest
    tiles: list[tuple[str, str, str]] = [
        ("k", count(policy.privacy.k), f"smallest class: {plural(smallest, report.unit[:-1])}"),
        ("rows published", count(rows["output"]), f"of {plural(rows['accepted'], 'accepted record')}"),
        ("suppressed", percent(use.suppressed), plural(rows["suppressed"], "row")),
        ("mean loss", decimal(use.loss.mean), "0 as it came, 1 nothing told"),
    ]
    tiles += _values(report)
    if waits.get("longest") is not None:
        bound = f"deadline {span(waits['deadline'], waits['unit'])}" if waits.get("deadline") else "no deadline"
        tiles.append(("longest wait", span(waits["longest"], waits["unit"]), bound))
    return tag("dl", *(tag("div", tag("dt", a), tag("dd", b, tag("small", c))) for a, b, c in tiles), class_="facts")


def _values(report: WindowReport) -> list[tuple[str, str, str]]:
    """What was asked of sensitive values, and the worst that was found."""
    found = {finding.promise: finding.figures for finding in report.promises}
    least, largest = found.get("diversity", {}), found.get("closeness", {})
    tiles = [(f"l, {name}", decimal(each["l"]), _worst("least", each["least"])) for name, each in least.items()]
    return tiles + [(f"t, {name}", decimal(each["t"]), _worst("largest", each["largest"])) for name, each in largest.items()]


def _worst(word: str, found: float | None) -> str:
    return "needs a trace" if found is None else f"{word} at a release: {decimal(found)}"


def promises(report: Report) -> Markup:
    """Each promise with its verdict and its violations."""
    return section("promises", "The promises", *map(_promise, report.promises))


def _promise(finding: Finding) -> Markup:
    look = _LOOKS.get(finding.verdict, "open")
    chip = tag("span", f"{_MARKS.get(finding.verdict, '')}{finding.verdict}", class_="chip")
    parts: list[Part] = [tag("h3", tag("span", sentence(finding.promise)[:-1]), chip), tag("p", sentence(finding.says))]
    notes = [sentence(finding.note), f"{count(finding.checked)} checked." if finding.checked else ""]
    if any(notes):
        parts.append(tag("p", " ".join(filter(None, notes)), class_="note"))
    if finding.broken:
        shown = len(finding.violations)
        more = f", the first {shown}" if finding.broken > shown else ""
        parts.append(tag("p", tag("b", f"{plural(finding.broken, 'violation')}{more}:")))
        parts.append(tag("ul", *(tag("li", str(violation)) for violation in finding.violations)))
    return tag("article", *parts, class_=f"promise {look}")
