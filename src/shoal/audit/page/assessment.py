"""The impact assessment as a page: what is filled in, from where, and room for what is left to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.page import document
from shoal.audit.page.element import Markup, section, tag

if TYPE_CHECKING:
    from shoal.audit.assessment import Entry, Part
    from shoal.audit.report import Report

TITLE = "Data protection impact assessment"
_FROM = {"policy": "from the policy", "audit": "from the audit", "you": "for you to write"}
INTRODUCTION = tag(
    "p",
    "Made from a policy of shoal and the audit of one output. It fills in what these two know of the parts that Article 35(7) "
    "GDPR asks for. What only you can know is marked, with room to write. It is a draft, and no legal advice.",
)


def part(found: Part) -> Markup:
    """One part, entry by entry."""
    return section(
        found.key, found.title, tag("p", found.article, class_="note"), tag("dl", *map(_entry, found.entries), class_="entries")
    )


def _entry(each: Entry) -> Markup:
    topic = tag("dt", each.topic, " ", tag("small", _FROM[each.source]))
    if each.source == "you":
        room = tag("dd", tag("span", each.question, class_="note"), tag("span", "", class_="room"), class_="blank")
        return tag("div", topic, room, class_="you")
    return tag("div", topic, tag("dd", each.text))


def sign_off(report: Report) -> Markup:
    """Lines for the signatures."""
    return document.sign_off(report, "assessment", "a) The processing and its purpose")
