"""What was checked and how, what is not protected, the policy, and the versions."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from shoal.audit.page.element import Markup, Part, section, table, tag
from shoal.audit.page.number import count, decimal, plural, span
from shoal.audit.promises.diversity import told
from shoal.policy import Attribute, Hierarchy, Policy
from shoal.policy.demand import Demand

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport

_SECRET = ("secret", "key", "password", "token", "salt", "file", "path")
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


def method(report: WindowReport) -> Markup:
    """What was checked and how."""
    traced = report.unit == "persons"
    rows = report.rows
    how = (
        "The trace tells which record is behind each row, so that every value was compared with what is published, and every "
        "group was counted in persons at the moment it left."
        if traced
        else "There was no trace. Rows cannot be linked with records, so that only what an outsider sees was judged: classes "
        "of equal rows, names and forms of fields, numbers of records and of values."
    )
    return section(
        "method",
        "What was checked, and how",
        tag(
            "p",
            f"The input ({plural(rows['input'], 'record')}, {count(rows['accepted'])} of them accepted), the output "
            f"({plural(rows['output'], 'row')}) and the policy were read by code that shares nothing with the code that "
            f"anonymized them. {how}",
        ),
        tag(
            "p",
            "A promise is broken if one row breaks it. Figures of risk and utility count all rows, unless it is said that they "
            "look at some; attacks look at targets drawn at random, the same every time. Rows count from 0, without a header.",
        ),
    )


def open_to(held: Policy) -> list[tuple[str, str]]:
    """What a policy leaves open."""
    sensitive = [name for name, attribute in held.attributes.items() if attribute.sensitive]
    has_l = {demand.name for demand in held.diverse if demand.l}
    has_t = {demand.name for demand in held.diverse if demand.t}
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


def policy(report: WindowReport) -> Markup:
    """The policy, without anything secret."""
    held = report.policy
    unit = "seconds" if held.window.timed else "arrivals" if held.window.kind == "count" else "tuples held"
    rows: list[tuple[Part, Part]] = [
        ("person", held.person or "none: each record is a person"),
        ("records without a person", "are persons of their own" if held.person_missing == "own" else "are rejected"),
        ("time", f"{held.time.field}, publish: {held.time.publish}" if held.time else "none"),
        ("k", f"{held.privacy.k}, nulls match: {held.privacy.nulls_match}{_support(held)}"),
        ("window", f"{held.window.kind}: {span(held.window.length, unit)}{_stretch(held)}"),
        ("weights", ", ".join(f"{name}: {weight:g}" for name, weight in held.weights.items()) or "all alike"),
        ("algorithm", ", ".join(f"{key}: {value}" for key, value in parameters(held.algorithm.model_dump()).items())),
        ("fingerprint", tag("code", held.fingerprint)),
    ]
    asks = {demand.name: f", {asked(demand)}" for demand in held.diverse}
    fields = [(name, each.role, _described(each) + asks.get(name, "")) for name, each in held.attributes.items()]
    return section(
        "policy",
        "The policy",
        table("What was promised", ("key", "value"), rows, numbers=9),
        table("What is published; everything else is not", ("attribute", "role", "how"), fields, numbers=9),
    )


def asked(demand: Demand) -> str:
    """What is asked of a sensitive attribute, without its values.

    >>> from shoal.policy.diversity import Diversity
    >>> asked(Demand("illness", Diversity("distinct", 3), 0.2, None))
    'l=3, t=0.2 from the input so far'
    """
    reference = "input so far" if demand.distribution is None else "policy's distribution"
    parts = [told(demand.l) if demand.l else "", f"t={demand.t:g} from the {reference}" if demand.t else ""]
    return ", ".join(filter(None, parts))


def _support(held: Policy) -> str:
    least = held.privacy.min_support
    return f", what fewer than {least} persons of a group have is the root" if least > 1 else ""


def _stretch(held: Policy) -> str:
    return f", up to {held.stretch:g} times as long while fewer than k persons are there" if held.stretch > 1 else ""


def parameters(written: dict[str, object]) -> dict[str, object]:
    """Parameters as they can be shown.

    >>> parameters({"name": "zanon", "secret_file": "hush", "z": 3.0, "reuse_age": float("inf")})
    {'name': 'zanon', 'secret_file': 'withheld', 'z': '3', 'reuse_age': 'unbounded'}
    """
    shown: dict[str, object] = {}
    for key, value in written.items():
        if isinstance(value, str) and any(word in key for word in _SECRET):
            shown[key] = "withheld"
        elif isinstance(value, float):
            shown[key] = "unbounded" if value == float("inf") else decimal(value)
        else:
            shown[key] = value
    return shown


def _described(attribute: Attribute) -> str:
    if attribute.range is not None:
        grid = f", grid {attribute.grid:,.12g}" if attribute.grid else ", no grid"
        clip = ", clipped" if attribute.out_of_range == "clip" else ""
        return f"range {attribute.low:,.12g} to {attribute.high:,.12g}{grid}{clip}"
    if attribute.hierarchy is not None:
        unknown = ", unknown values as the root" if attribute.unknown == "root" else ""
        return f"{hierarchy(attribute.hierarchy)}{unknown}"
    return "as it came"


def hierarchy(tree: Hierarchy) -> str:
    """The size of a hierarchy."""
    return f"hierarchy of {count(tree.leaves)} leaves and {plural(len(tree.labels) - tree.leaves, 'inner node')}"


def versions() -> Markup:
    """What made this report, and when."""
    found = [f"{name} {_version(name)}" for name in ("shoal", "numpy", "pyarrow")]
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return tag("footer", tag("p", f"Made {made} by {', '.join(found)}, Python {platform.python_version()}."))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "of unknown version"
