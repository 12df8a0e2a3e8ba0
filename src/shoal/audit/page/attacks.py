"""Attacks and what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.attacks import Attack
from shoal.audit.classes import promised
from shoal.audit.page.chart import bars
from shoal.audit.page.element import Markup, section, tag
from shoal.audit.page.number import chance, count, percent, sentence

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport


def attacks(report: WindowReport) -> Markup:
    """Every attack, its success beside its baseline."""
    k = report.policy.privacy.k
    shared = "" if promised(report.policy) == "maybe" else ", nor should one who also knows which values a person lacks"
    told = (
        "Run for real on the published rows, on targets drawn at random; the trace tells whether a guess is right. The "
        "attackers differ in what they know, most of it more than an outsider has. Where k holds, one who knows only "
        f"quasi-identifiers and reads nulls as any value should not be right more often than {chance(1 / k)}{shared}."
        if report.unit == "persons"
        else "Attacks need the trace, which tells whether a guess is right. It was not given, and none was run."
    )
    return section("attacks", "Attacks", tag("p", told), *map(attack, report.figures.attacks))


def attack(attack: Attack) -> Markup:
    """One attack."""
    parts = [tag("h3", sentence(attack.name)[:-1]), tag("p", tag("b", "Knows: "), f"{attack.knows}.")]
    success, _, baseline = attack.meaning.partition("; baseline: ")
    parts.append(tag("p", tag("b", "Success: "), f"{success}."))
    if attack.success is None or attack.baseline is None:
        return tag("article", *parts, tag("p", sentence(attack.obstacle), class_="note"), class_="attack")
    look = "alert" if attack.success > 1.5 * attack.baseline and attack.success - attack.baseline > 0.01 else "mean"
    rows = [
        ("success", attack.success, _both(attack.success), look),
        (f"baseline: {baseline}", attack.baseline, _both(attack.baseline), "base"),
    ]
    detail = f"{count(attack.tried)} tried. {sentence(attack.detail)}".strip()
    parts.append(bars(f"{attack.name}: success and baseline", rows, ("", "chance")))
    return tag("article", *parts, tag("p", detail, class_="note"), class_="attack")


def _both(share: float) -> str:
    return percent(share) if share > 0.4 or share == 0 else f"{chance(share)} ({percent(share)})"
