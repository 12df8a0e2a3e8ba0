"""What is not protected."""

from __future__ import annotations

from collections.abc import Iterable

from shoal.audit.page.element import Markup, section, tag
from shoal.policy import Policy

_MAYBE = (
    "Nulls.",
    "k is promised where a null may stand for any value. Who knows which values a person lacks sees smaller classes, "
    "down to one.",
)
_SHARED = ("Shared values.", "If all members of a group have the same sensitive value, it is known of each of them.")
_SKEWED = ("Skewed values.", "A sensitive value that is rare in the stream and frequent in a group is likely for its members.")
_ENDS = ("Ends of intervals.", "Without a grid, both ends of a published interval are values of members.")
_LIMITS = (
    ("Suppressed rows.", "They still show their sensitive and kept values, and are hidden among the suppressed rows only."),
    ("Several rows of one person.", "Who can tell that rows are about one person can intersect the groups they are in."),
    ("Kept attributes and times.", "k does not count them. Who recognises a person by one needs no quasi-identifier."),
    ("Order and timing.", "Members of a group leave together, in order of arrival, soon after they came."),
    ("Who knows who was there.", "Who knows all but one of a group's members, or put them there, finds the last one."),
    ("The trace.", "It links rows with records. With this report it is not needed any more; guard it like the input."),
)


def open_to(held: Policy) -> list[tuple[str, str]]:
    """What a policy leaves open."""
    sensitive = [name for name, attribute in held.attributes.items() if attribute.sensitive]
    has_l = {demand.name for demand in held.requirements if demand.l}
    has_t = {demand.name for demand in held.requirements if demand.t}
    some = {
        _MAYBE: held.privacy.nulls_match == "maybe",
        _SHARED: any(name not in has_l for name in sensitive),
        _SKEWED: any(name not in has_t for name in sensitive),
        _ENDS: any(attribute.range is not None and attribute.grid is None for _, attribute in held.quasi),
    }
    return [*(limit for limit, is_open in some.items() if is_open), *_LIMITS]


def limits(found: Iterable[tuple[str, str]]) -> Markup:
    """What no promise covers."""
    items = (tag("li", tag("b", name), " ", what) for name, what in found)
    return section("limits", "What is not protected", tag("ul", *items))
