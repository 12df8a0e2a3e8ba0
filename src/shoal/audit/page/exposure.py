"""How well persons are hidden: readings of nulls, risk, sensitive values, attacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shoal.audit.attacks import Attack
from shoal.audit.classes import promised
from shoal.audit.diversity import Diversity
from shoal.audit.exposure import named
from shoal.audit.page.element import (
    Markup,
    Part,
    bars,
    chance,
    count,
    decimal,
    percent,
    plural,
    section,
    sentence,
    sizes,
    table,
    tag,
)
from shoal.audit.page.policy import asked
from shoal.audit.risk import ENOUGH

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport

_READINGS = {
    "maybe": "maybe: a null may be any value",
    "extended": "extended: a null is a value of its own",
    "basic": "basic: a null matches nothing",
}


def nulls(report: WindowReport) -> Markup:
    """The smallest class under each reading, and how many are below k."""
    k, held = report.policy.privacy.k, report.policy.privacy.nulls_match
    columns = 5 if any(found.unknown for found in report.nulls.values()) else 4
    rows: list[tuple[Part, ...]] = []
    for reading in ("maybe", "extended", "basic"):
        found = report.nulls[reading]
        name: Part = _READINGS[reading]
        if reading == promised(report.policy):
            name = tag("b", f"{name} (promised)")
        share = f"{count(found.below)} ({percent(found.below / found.shown)})" if found.shown else "0"
        rows.append((name, count(found.smallest), share, count(found.alone), count(found.unknown))[:columns])
    head = ["reading of nulls", f"smallest class, {report.unit}", f"rows below k = {k}", "rows alone", "rows not judged"]
    extended = report.nulls["extended"]
    gap = (
        f"k is promised under {held} match. A reader who takes nulls as values finds {plural(extended.below, 'row')} in "
        f"classes of fewer than {k} {report.unit}, {count(extended.alone)} of them alone with their pattern of nulls."
        if extended.below
        else f"No row is in a class of fewer than {k} {report.unit} even if nulls are taken as values."
    )
    seen = table("Suppressed rows are no class.", head[:columns], rows)
    caption = f"Sizes of the classes of equal rows, nulls taken as values; amber: fewer rows than k = {k}"
    bars = sizes(caption, report.figures.class_sizes, "row", ("size", "classes"), fewest=k)
    return section("nulls", "Classes under each reading of nulls", tag("p", gap), seen, bars)


def risk(report: WindowReport) -> Markup:
    """Prosecutor, journalist and marketer, under two readings."""
    rows = []
    for reading in ("maybe", "extended"):
        found = report.figures.risk[reading]
        name = _READINGS[reading].split(":")[0]
        prosecutor = found.prosecutor
        rows.append((f"prosecutor, {name}", chance(prosecutor.highest), chance(prosecutor.average), percent(prosecutor.above)))
        if found.journalist is not None:
            journalist = found.journalist
            highest = chance(journalist.highest) if found.exact else f"{chance(journalist.highest)}, of some rows"
            rows.append((f"journalist, {name}", highest, chance(journalist.average), percent(journalist.above)))
        if found.marketer is not None:
            rows.append((f"marketer, {name}", "", chance(found.marketer), ""))
    threshold = report.figures.risk["extended"].threshold
    average = report.figures.risk["extended"].average
    return section(
        "risk",
        "Risk of being found",
        tag(
            "p",
            "The prosecutor knows that a person is in the stream, the journalist does not, the marketer tries to find all. "
            f"A row's risk is one in as many {report.unit} as could be behind it. The journalist's and the marketer's are "
            f"counted in the input, on rows drawn at random, up to {count(ENOUGH)} {report.unit}: they may be lower than "
            "stated, not higher.",
        ),
        table(
            f"Average class of equal rows, nulls taken for values: {decimal(average)} {report.unit}.",
            ("attacker, reading of nulls", "highest risk", "average risk", f"rows above {chance(threshold)}"),
            rows,
        ),
    )


def sensitive(report: WindowReport) -> Markup:
    """Diversity of each sensitive attribute."""
    figures = report.figures
    if not figures.diversity:
        return section("sensitive", "Sensitive values", tag("p", "The policy names no sensitive attribute."))
    parts: list[Part] = [
        tag(
            "p",
            "k hides which row is a person's. It does not hide a value that all members of a class share. " + _asked(report),
        )
    ]
    if figures.group_diversity is not None:
        parts.append(_diversity("Within published groups, with the rows that reuse them", figures.group_diversity))
    parts.append(_diversity("Within classes of equal rows, nulls taken for values", figures.diversity))
    return section("sensitive", "Sensitive values", *parts)


def _asked(report: WindowReport) -> str:
    """What is promised of sensitive values."""
    if not report.policy.requirements:
        return "There is no promise about it; these are the figures."
    promises = "; ".join(f"{demand.name}: {asked(demand)}" for demand in report.policy.requirements)
    return f"Promised at every release: {promises}. These are the figures of whole classes, a missing value counted as one."


def _diversity(caption: str, found: Mapping[str, Diversity]) -> Markup:
    head = ("attribute", "fewest values", "entropy l, least", "t, largest", "t, mean", "rows in a class of one value")
    rows = [
        (
            name,
            f"{count(each.distinct)} of {count(each.values)}",
            decimal(each.entropy),
            decimal(each.closeness),
            decimal(each.closeness_mean),
            count(each.uniform_records),
        )
        for name, each in found.items()
    ]
    return table(caption, head, rows)


def attacks(report: WindowReport) -> Markup:
    """Every attack, its success beside its baseline."""
    k = report.policy.privacy.k
    shared = (
        ""
        if promised(report.policy) == "maybe"
        else ", and neither should an attacker who also knows which values a person lacks"
    )
    text = (
        "Each attack was run on the published rows, for targets drawn at random; the trace says whether a guess is right. Most "
        "of these attackers know more than an outsider does. If k holds, an attacker who knows only quasi-identifiers, and "
        f"reads a null as any value, should not be right more often than {chance(1 / k)}{shared}."
        if report.unit == "persons"
        else "Attacks need the trace, which says whether a guess is right. No trace was given, so none was run."
    )
    worse = {(each.name, each.of) for each in report.exposures if each.is_worse}
    each = [attack(found, named(found.name) in worse) for found in report.figures.attacks]
    return section("attacks", "Attacks, one by one", tag("p", text), *each)


def attack(attack: Attack, is_worse: bool) -> Markup:
    """One attack; `is_worse`: than its bound."""
    parts = [tag("h3", sentence(attack.name)[:-1]), tag("p", tag("b", "Knows: "), f"{attack.knows}.")]
    success, _, baseline = attack.meaning.partition("; baseline: ")
    parts.append(tag("p", tag("b", "Success: "), f"{success}."))
    if attack.success is None or attack.baseline is None:
        return tag("article", *parts, tag("p", sentence(attack.obstacle), class_="note"), class_="attack")
    look = "alert" if is_worse else "mean"
    rows = [
        ("success", attack.success, _both(attack.success), look),
        (f"baseline: {baseline}", attack.baseline, _both(attack.baseline), "base"),
    ]
    detail = f"{count(attack.tried)} tried. {sentence(attack.detail)}".strip()
    parts.append(bars(f"{attack.name}: success and baseline", rows, ("", "chance")))
    return tag("article", *parts, tag("p", detail, class_="note"), class_="attack")


def _both(share: float) -> str:
    return percent(share) if share > 0.4 or share == 0 else f"{chance(share)} ({percent(share)})"
