"""The verdict, the promises one by one, the method, and what is not protected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from shoal.audit.classes import promised
from shoal.audit.finding import Finding, Verdict
from shoal.audit.page.element import Markup, Part, count, decimal, percent, plural, section, sentence, span, tag, tiled
from shoal.policy import Policy

if TYPE_CHECKING:
    from shoal.audit.report import Report, WindowReport

HOW = {
    True: "The trace says which record is behind each row, so every value was compared with what is published, and every "
    "group was counted in persons at the moment it left.",
    False: "There was no trace. Rows cannot be linked with records, so that only what an outsider sees was judged: classes of "
    "equal rows, names and forms of fields, numbers of records and of values.",
}
FIGURES = (
    "Figures of risk and utility count all rows, unless it is said that they look at some; attacks look at targets drawn at "
    "random, the same every time. "
)
_LOOKS = {Verdict.HELD: "held", Verdict.BROKEN: "broken"}
_BANNERS = {"green": "held", "amber": "open", "red": "broken"}
_SIGNS = {"green": "✓", "amber": "△", "red": "✕"}
_MARKS = {Verdict.HELD: "✓ ", Verdict.BROKEN: "✕ "}
_MAYBE = (
    "Nulls.",
    "k is promised where a null may stand for any value. An outsider who knows which values a person lacks sees smaller "
    "classes, down to one.",
)
_SHARED = ("Shared values.", "If all members of a group have the same sensitive value, it is known of each of them.")
_SKEWED = ("Skewed values.", "A sensitive value that is rare in the stream and frequent in a group is likely for its members.")
_ENDS = ("Ends of intervals.", "Without a grid, both ends of a published interval are values of members.")
_SUPPRESSED = (
    "Suppressed rows.",
    "They show their sensitive and kept values, and are hidden among the suppressed rows only, however few these are.",
)
_LIMITS = (
    (
        "Several rows of one person.",
        "An outsider who can tell that rows are about one person can intersect the groups they are in.",
    ),
    ("Kept attributes.", "No group is made for them. An outsider who recognises a person by one needs no quasi-identifier."),
    ("Order and timing.", "Members of a group leave together, in order of arrival, soon after they came."),
    (
        "Members who are known.",
        "An outsider who knows all but one of a group's members, or put them there, finds the last one.",
    ),
    ("The trace.", "It links rows with records. After this report it is not needed any more; protect it like the input."),
)


def banner(report: Report, limits: str) -> Markup:
    """The verdict in one sentence, how many rows are outside k, which promises could not be judged; the section on limits."""
    headline = report.headline
    unknown = [finding.promise for finding in report.promises if finding.verdict == Verdict.NOT_CHECKABLE]
    absent = [finding.promise for finding in report.promises if finding.verdict == Verdict.NOT_PROMISED]
    text = [headline.outside] if headline.outside else []
    if unknown:
        text.append(f"Not checkable from these files: {', '.join(unknown)}.")
    if absent:
        text.append(f"Not promised by this policy: {', '.join(absent)}.")
    text.append(f"What no promise covers is under “{limits}”.")
    strong = tag("strong", f"{_SIGNS[headline.colour]} {sentence(headline.text)}")
    return tag("div", strong, *(tag("p", each) for each in text), class_=f"verdict {_BANNERS[headline.colour]}", role="status")


def facts(report: WindowReport) -> Markup:
    """The few most important numbers."""
    policy, rows, use = report.policy, report.rows, report.figures.utility
    waits = report["in time"].figures
    smallest = report.nulls[promised(policy)].smallest
    tiles: list[tuple[str, str, str]] = [
        ("k", count(policy.privacy.k), f"smallest class: {plural(smallest, report.unit[:-1])}"),
        ("rows published", count(rows["output"]), f"of {plural(rows['accepted'], 'accepted record')}"),
        (
            "outside k",
            percent(rows["suppressed"] / max(1, rows["accepted"])),
            f"{plural(rows['suppressed'], 'row')} suppressed",
        ),
        ("mean loss", decimal(use.loss.mean), "0 unchanged, 1 nothing left"),
    ]
    tiles += _values(report)
    if waits.get("longest") is not None:
        deadline = waits.get("deadline")
        bound = f"deadline {span(deadline, waits['unit'])}" if deadline else "no deadline"
        if deadline and waits["longest"] > deadline:
            later = span(waits["longest"] - deadline, waits["unit"])
            bound = f"left at the first record after its deadline of {span(deadline, waits['unit'])}, {later} later"
        tiles.append(("longest wait", span(waits["longest"], waits["unit"]), bound))
    return tiled(tiles)


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
    return section(
        "promises", "1. Were the promises of the policy kept?", *map(_promise, sorted(report.promises, key=_urgency))
    )


def _urgency(finding: Finding) -> int:
    return (Verdict.BROKEN, Verdict.NOT_CHECKABLE, Verdict.HELD, Verdict.NOT_PROMISED).index(finding.verdict)


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


def method(rows: Mapping[str, int], how: str, figures: str = "") -> Markup:
    """What was checked and how."""
    read = (
        f"The input ({plural(rows['input'], 'record')}, {count(rows['accepted'])} of them accepted), the output "
        f"({plural(rows['output'], 'row')}) and the policy were read by code that shares nothing with the code that "
        f"anonymized them. {how}"
    )
    judged = f"A promise is broken if one row breaks it. {figures}Rows count from 1, without a header."
    parts = [tag("p", read), tag("p", judged)] if figures else [tag("p", f"{read} {judged}")]
    return section("method", "What was checked, and how", *parts)


def versions(report: Report) -> list[Markup]:
    """What made this report, and when; nothing for a trial in memory."""
    made = report.record
    if made is None:
        return []
    found = ", ".join(f"{name} {version}" for name, version in made.versions.items())
    return [tag("footer", tag("p", f"Made {made.made} by {found}."))]


def open_to(held: Policy) -> list[tuple[str, str]]:
    """What a policy leaves open."""
    sensitive = [name for name, attribute in held.attributes.items() if attribute.sensitive]
    has_l = {demand.name for demand in held.requirements if demand.l}
    has_t = {demand.name for demand in held.requirements if demand.t}
    some = {
        _MAYBE: held.privacy.nulls_match == "maybe",
        _SUPPRESSED: held.suppressed == "publish",
        _SHARED: any(name not in has_l for name in sensitive),
        _SKEWED: any(name not in has_t for name in sensitive),
        _ENDS: any(attribute.range is not None and attribute.grid is None for _, attribute in held.quasi),
    }
    return [*(limit for limit, is_open in some.items() if is_open), *_LIMITS]


def limits(found: Iterable[tuple[str, str]]) -> Markup:
    """What no promise covers."""
    items = (tag("li", tag("b", name), " ", what) for name, what in found)
    return section("limits", "What is not protected", tag("ul", *items))
