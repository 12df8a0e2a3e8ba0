"""What an outsider can still do: every attack beside chance and its bound, the worst first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.exposure import Exposure
from shoal.audit.page.element import Markup, Part, count, percent, section, sentence, table, tag

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport

_WORDS = (
    "The three words are those of the European regulators' opinion on anonymisation techniques (WP216): singling out isolates "
    "the rows of a person, linking connects rows about a person, inferring finds a value of a person. Each attack was run on "
    "this output. A control without knowledge of the person was run too; its success is the success by chance. Each attack "
    "has a bound: the share that the policy accepts, or else a share clearly above chance and above 1/k. An attack above its "
    "bound is worse, and makes the verdict amber."
)


def outsider(report: WindowReport) -> Markup:
    """The attacks, and what was counted."""
    done = [each for each in report.exposures if each.success is not None]
    parts: list[Part] = [tag("p", _WORDS)]
    head = ("attack", "what it does", "found", "right", "by chance", "bound")
    parts.append(table("The worst first; * is accepted by the policy.", head, map(_row, done), numbers=3))
    untried = [f"{each.label} ({each.obstacle})" for each in report.exposures if each.success is None]
    if untried:
        parts.append(tag("p", f"Not tried: {'; '.join(untried)}."))
    parts.append(tag("p", _counted(report)))
    if report.whole.reasons:
        parts.append(tag("p", "Published as they are and not counted, for the reasons that the policy gives:"))
        reasons = (tag("li", tag("b", name), f": {reason}") for name, reason in report.whole.reasons.items())
        parts.append(tag("ul", *reasons))
    return section("outsider", "2. What can an outsider still do?", *parts)


def _row(each: Exposure) -> tuple[Part, ...]:
    assert each.success is not None and each.chance is not None and each.bound is not None
    mark = "✕ " if each.fails else "△ " if each.is_worse else ""
    right = f"{mark}{percent(each.success)}"
    star = " *" if each.accepted is not None else ""
    found = sentence(each.detail) if each.detail else f"{count(each.tried)} tried."
    return (
        each.label, each.kind, found, tag("b", right) if mark else right, percent(each.chance), f"{percent(each.bound)}{star}"
    )  # fmt: skip


def _counted(report: WindowReport) -> str:
    """Which fields count as the row."""
    whole, quasi = report.whole, [name for name, _ in report.policy.quasi]
    return (
        f"Two rows are alike if both show the same {', '.join([*quasi, *whole.counted])}. With all of these, the smallest "
        f"class has {count(whole.smallest)} {report.unit}; {count(whole.below)} of {count(whole.rows)} rows are in classes "
        f"below k, {count(whole.alone)} are alone. Sensitive values are not counted: they are what an outsider wants to know."
    )
