"""The policy, and what it asks, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.page.element import Markup, Part, count, decimal, percent, plural, section, span, table, tag
from shoal.audit.promises.sensitive import in_short
from shoal.policy import Attribute, Hierarchy, Policy, Requirement

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport

_SECRET = ("secret", "key", "password", "token", "salt", "file", "path")


_SUPPRESSED = {"blank": "show no value", "publish": "show sensitive and kept values", "drop": "are not published"}


def policy(report: WindowReport) -> Markup:
    """The policy, without anything secret."""
    held = report.policy
    unit = "seconds" if held.window.timed else "arrivals" if held.window.kind == "count" else "tuples held"
    rows: list[tuple[Part, Part]] = [
        ("person", held.person or "none: each record is a person"),
        ("records without a person", "count as different persons" if held.person_missing == "own" else "are rejected"),
        ("time", f"{held.time.field}, publish: {held.time.publish}" if held.time else "none"),
        ("k", f"{held.privacy.k}, nulls match: {held.privacy.nulls_match}{_support(held)}"),
        ("suppressed rows", _SUPPRESSED[held.suppressed]),
        (
            "accepted",
            ", ".join(f"{name}: {percent(share)}" for name, share in held.privacy.accept.items()) or "nothing is said",
        ),
        ("window", f"{held.window.kind}: {span(held.window.length, unit)}{_stretch(held)}"),
        ("weights", ", ".join(f"{name}: {weight:g}" for name, weight in held.weights.items()) or "all alike"),
        ("algorithm", ", ".join(f"{key}: {value}" for key, value in parameters(held.algorithm.model_dump()).items())),
        ("fingerprint", tag("code", held.fingerprint)),
    ]
    return section(
        "policy",
        "The policy",
        table("What was promised", ("key", "value"), rows, numbers=9),
        table("What is published; everything else is not", ("field", "role", "how"), fields(held), numbers=9),
    )


def fields(held: Policy) -> list[tuple[str, str, str]]:
    """Each field that is published, its role, and how it is published."""
    asks = {demand.name: f", {asked(demand)}" for demand in held.requirements}
    found = []
    if held.time and held.time.publish != "drop":
        grid = held.time_grid
        how = "as it came" if grid is None else f"one interval for all of a group, its ends on a grid of {_length(grid)}"
        found.append((held.time.field, "time", how))
    if held.item:
        tree = held.item.hierarchy
        found.append((held.person or "", "person", "under a pseudonym that changes"))
        found += [(name, "item", hierarchy(tree) if tree else "unchanged, or not at all") for name in held.item.names]
    return found + [
        (name, each.role, (_stable(held, name) or _described(each)) + asks.get(name, ""))
        for name, each in held.attributes.items()
    ]


def _length(seconds: float) -> str:
    """
    >>> _length(604800), _length(90), _length(3600)
    ('7 days', '90 seconds', '1 hour')
    """
    units = (("days", 86_400), ("hours", 3600), ("minutes", 60))
    unit, size = next(((unit, size) for unit, size in units if seconds % size == 0), ("seconds", 1))
    return span(seconds / size, unit)


def _stable(held: Policy, name: str) -> str:
    """How a stable attribute is published; empty where the attribute is not declared so."""
    if name in held.blocks:
        blocks = held.blocks[name].values
        return f"the block of its value, of {count(len(blocks))} blocks of at least {count(min(map(len, blocks)))} values"
    if name in held.bags:
        return f"apart from the rows, in bags of at least {count(held.bags[name])} values"
    return "stable, but published unchanged" if held.shown_as(name) == "exact" else ""


def asked(demand: Requirement) -> str:
    """What is asked of a sensitive attribute, without its values.

    >>> from shoal.policy import Diversity
    >>> asked(Requirement("illness", Diversity("distinct", 3), 0.2, None))
    'l=3, t=0.2 from the input so far'
    """
    reference = "input so far" if demand.distribution is None else "policy's distribution"
    parts = [in_short(demand.l) if demand.l else "", f"t={demand.t:g} from the {reference}" if demand.t else ""]
    return ", ".join(filter(None, parts))


def _support(held: Policy) -> str:
    least = held.privacy.support
    return f", the root for a value that fewer than {least} persons of a group have" if least > 1 else ""


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
    return "as it came" + (f", because: {attribute.reason}" if attribute.reason else "")


def hierarchy(tree: Hierarchy) -> str:
    """The size of a hierarchy."""
    return f"hierarchy of {count(tree.leaves)} leaves and {plural(len(tree.labels) - tree.leaves, 'inner node')}"
