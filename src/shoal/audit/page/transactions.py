"""z-anonymity on the page: what left, which users publish the same, what links pseudonyms, what is not protected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.exposure import beats_chance
from shoal.audit.page.element import Markup, Part, count, decimal, percent, plural, section, sizes, table, tag, tiled
from shoal.audit.page.exposure import attack
from shoal.audit.page.policy import fields, hierarchy
from shoal.policy import Zanon

if TYPE_CHECKING:
    from shoal.audit.report import FilterReport

CONTENTS = {
    "summary": "In plain words",
    "judged": "What was judged",
    "promises": "Promises",
    "users": "Users",
    "crowds": "Who is alike",
    "attacks": "Attacks",
    "method": "Method",
    "limits": "Not protected",
    "policy": "Policy",
    "sign": "Sign-off",
}
LIMITS = (
    ("z is not k.", "Each item is shared by z users. A set of items may still be one user's alone."),
    (
        "Within a period",
        "all observations of a user have one pseudonym. An outsider who knows one item and its time finds the rest.",
    ),
    (
        "Across periods",
        "the pseudonym changes, but habits do not: they can link the observations of two periods. The window of the count does "
        "not start anew with a period. So an item that had z users before the boundary is published at once after it, by the "
        "same users under new pseudonyms. A visit that continues over the boundary links them too.",
    ),
    ("Kept attributes and times.", "They are published as they came, and z does not count them."),
    ("Blank observations", "reveal that a user did something, and when."),
    ("Users of an attacker's own", "count like others: z - 1 made-up users and one real observation publish an item."),
    ("An item's name", "may be personal by itself. Two accounts of one person count as two users."),
    (
        "The secret.",
        "A holder of the secret can link all pseudonyms with users. It is no part of these files, and was not judged.",
    ),
    ("The trace.", "It links rows with observations. After this report it is not needed any more; protect it like the input."),
)
HOW = {
    True: "The observation behind each row is known: from the trace, or because the output is what follows from the input "
    "and the policy, row for row. So the users of every item were counted again for the moment at which it was published.",
    False: "There was no trace, and it is not certain that the output follows from the input and the policy. Rows cannot be "
    "linked with observations. So only what an outsider sees was judged, and users were counted over the whole input.",
}


def facts(report: FilterReport) -> Markup:
    """The few most important numbers."""
    rule, rows, found = _rule(report), report.rows, report.figures
    fewest = report["z users"].figures.get("smallest")
    least = f"fewest users at a release: {count(fewest)}" if fewest is not None else "nothing was released"
    fixed = isinstance(rule.z, int)
    tiles: list[tuple[str, str, str]] = [
        ("z" if fixed else "floor of z", count(rule.z if isinstance(rule.z, int) else rule.z.floor), least),
        ("published with an item", count(found.shown), f"of {plural(rows['accepted'], 'accepted observation')}"),
        ("withheld", percent(rows["withheld"] / rows["accepted"]) if rows["accepted"] else "0", rule.withheld),
    ]
    if found.generalized is not None and report.policy.item and report.policy.item.hierarchy:
        tiles.append(("generalized", percent(found.generalized / found.shown) if found.shown else "0", "of those published"))
    tiles.append(("different items", count(found.published), f"of {count(found.items)} that came"))
    return tiled(tiles)


def users(report: FilterReport) -> Markup:
    """How many users an item had when it was published."""
    found = report.figures.users
    if found is None:
        text = "How many users an item had when it was published can be counted with a trace, which was not given."
        return section("users", "Users of an item", tag("p", text, class_="note"))
    text = (
        "For each row: how many users had exposed its item within the window before, by the recount. No number may be below z."
    )
    bars = sizes("Releases by the users of the item", found, "user", ("users", "how many"))
    return section("users", "Users of an item", tag("p", text), bars)


def crowds(report: FilterReport) -> Markup:
    """How many users publish the same."""
    found = report.figures.crowds
    if not found.pseudonyms:
        return section("crowds", "Who is alike", tag("p", "Nothing was published."))
    text = (
        f"z is a promise about items, not about sets of them. Of {plural(found.pseudonyms, 'pseudonym')} that publish, "
        f"{count(found.alone)} ({percent(found.alone / found.pseudonyms)}) publish a set of items that no "
        "other pseudonym publishes in the same period. Nothing is promised about it."
    )
    alike = sizes("Sets by how many publish them", found.sizes, "pseudonym", ("pseudonyms", "how many"))
    return section("crowds", "Who is alike", tag("p", text), alike)


def attacks(report: FilterReport) -> Markup:
    """What links the pseudonyms of two periods."""
    text = (
        "At the end of each period every pseudonym changes. The attack guesses, from the output alone, which pseudonym of the "
        "next period belongs to the same user, for random users who publish in both periods. Because the observation behind "
        "each row is known, it is known whether a guess is right."
        if report.traced
        else "Attacks need to know which observation is behind each row. Without a trace it is not known here, so none was run."
    )
    return section("attacks", "Attacks", tag("p", text), *(attack(each, beats_chance(each)) for each in report.figures.attacks))


def policy(report: FilterReport) -> Markup:
    """The policy, without anything secret."""
    held, rule = report.policy, _rule(report)
    assert held.item is not None and held.time is not None
    z: Part = rule.z
    if not isinstance(rule.z, int):
        z = f"follows the stream: k {rule.z.auto.k}, probability {decimal(rule.z.auto.probability)}, floor {rule.z.floor}"
    tree = held.item.hierarchy
    shown = hierarchy(tree) if tree else "unchanged, or not at all"
    rows: list[tuple[Part, Part]] = [
        ("person", f"{held.person}, under a pseudonym"),
        ("records without a person", "count as different persons" if held.person_missing == "own" else "are rejected"),
        ("time", f"{held.time.field}, as it came"),
        ("item", f"{', '.join(held.item.names)}: {shown}"),
        ("z", z),
        ("window", f"{decimal(rule.window)} seconds"),
        ("withheld", rule.withheld),
        ("fingerprint", tag("code", held.fingerprint)),
    ]
    return section(
        "policy",
        "The policy",
        table("What was promised", ("key", "value"), rows, numbers=9),
        table("What is published; everything else is not", ("field", "role", "how"), fields(held), numbers=9),
    )


def _rule(report: FilterReport) -> Zanon:
    rule = report.policy.algorithm
    assert isinstance(rule, Zanon)
    return rule
