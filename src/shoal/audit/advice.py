"""What the numbers of an audit recommend. What a change costs is measured elsewhere, by running the anonymizer again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from shoal.audit.exposure import Exposure
from shoal.audit.finding import Verdict
from shoal.audit.verdict import percent

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport

_MANY_SUPPRESSED = 0.05
_CLOSE = 0.3  # the t that is recommended
ACROSS = 3
"""The values of a block that is recommended."""
_TIMES = 1  # that a person leaves in a day, against intersection
_STEPS = 20  # of a grid that is recommended, over the range
_LINKS = ("whole row", "linkage", "timing", "presence", "minimality")


@dataclass(frozen=True)
class Price:
    """What a change costs and gains, measured on the same records under both policies."""

    rows: int  # records that were anonymized twice
    loss_before: float
    loss_after: float
    published_before: int  # rows that are not suppressed
    published_after: int
    success_before: float | None  # of the attack that the change is against
    success_after: float | None
    kept: float | None = None  # of the information of an attribute, where blocks take its place


@dataclass(frozen=True)
class Advice:
    """One recommendation."""

    about: str  # an attack, a promise or a figure
    because: str  # what was found
    do: str  # what to do
    change: Mapping[str, Any] | None = None  # the keys of the policy that change, where they can be written down
    price: Price | None = field(default=None)
    blocks_of: str = ""  # an attribute whose blocks have to be drafted from the data

    @property
    def is_priced(self) -> bool:
        """Whether its price can be measured."""
        return bool(self.change or self.blocks_of)

    @property
    def cost(self) -> str:
        """What was measured, in words; empty where nothing was."""
        return "" if self.price is None else _in_words(self.price)


def advice(report: WindowReport) -> tuple[Advice, ...]:
    """What to do, the most urgent first; at most one for each change of the policy."""
    found: dict[str, Advice] = {}
    for each in (*_of_promises(report), *_of_attacks(report), *_of_data(report)):
        key = repr(each.change) if each.change else each.do
        found.setdefault(key, each)
    return tuple(replace(each, price=report.prices.get(each.about)) for each in found.values())


def _of_promises(report: WindowReport) -> Iterator[Advice]:
    broken = [each for each in report.promises if each.verdict == Verdict.BROKEN]
    if broken:
        names, number = ", ".join(each.promise for each in broken), sum(each.broken for each in broken)
        yield Advice(
            names,
            f"{number:,} violation{'' if number == 1 else 's'} of {names}",
            "do not publish this output; find out what wrote it, anonymize the input again, and repeat this audit",
        )
    if report.unit == "rows" and any(each.verdict == Verdict.NOT_CHECKABLE for each in report.promises):
        yield Advice(
            "trace",
            "without a trace some promises and most attacks could not be judged",
            "repeat the run with --trace, and give the trace to this audit",
        )


def _of_attacks(report: WindowReport) -> Iterator[Advice]:
    for each in report.exposures:
        if each.is_worse:
            yield _against(report, each)


def _against(report: WindowReport, each: Exposure) -> Advice:
    policy, name, of = report.policy, each.name, each.of
    right = f"right in {percent(each.success)}, {percent(each.chance)} by chance"
    demand = next((one for one in policy.requirements if one.name == of), None)
    own: dict[str, Any] = {"attributes": {of: {}}}
    if name == "homogeneity" and (demand is None or demand.l is None):
        own["attributes"][of] = {"l": 2}
        because = f"{percent(each.success)} of the rows reveal {of}, since their class shows one value of it"
        return Advice(each.label, because, f"set l: 2 on {of}", own)
    if name in ("homogeneity", "inference") and (demand is None or demand.t is None):
        own["attributes"][of] = {"t": _CLOSE}
        return Advice(each.label, f"{of} can be guessed from the class: {right}", f"set t: {_CLOSE} on {of}", own)
    if name in ("intersection of values", "values across releases"):
        because = f"an outsider who links the releases of a person learns {of}: {right}"
        do = f"declare {of} stable: true with as: block, and privacy: {{across: {ACROSS}}}; shoal blocks drafts the blocks"
        return Advice(each.label, because, do, blocks_of=of)
    if name == "intersection":
        because = f"an outsider who links the releases of a person can identify the person: {right}"
        bound = f"releases: {{per_person: {_TIMES}, per: 1d}}"
        do = f"bound how often a person leaves, by {bound}, or rule out by contract that rows are linked"
        return Advice(each.label, because, do, {"releases": {"per_person": _TIMES, "per": "1d"}})
    if name == "null pattern":
        return _against_nulls(report, each, f"which values are missing finds persons: {right}")
    if name == "end points":
        grids = _grids(report)
        because = f"ends of intervals are values of persons: {right}"
        if grids:
            names = ", ".join(f"{key} (grid: {value['grid']:g})" for key, value in grids.items())
            return Advice(each.label, because, f"give a grid to {names}", {"attributes": grids})
    if name == "below k":
        return _below_k(report, each)
    if name == "order":
        return Advice(each.label, f"the order of the rows reveals persons: {right}", "shuffle the rows before you publish them")
    if name in _LINKS and policy.privacy.k > 1:
        k = 2 * policy.privacy.k
        return Advice(
            each.label, f"persons are found: {right}", f"raise k from {policy.privacy.k} to {k}", {"privacy": {"k": k}}
        )
    return Advice(each.label, f"it succeeds more often than its bound: {right}", _accepted(name))


def _below_k(report: WindowReport, each: Exposure) -> Advice:
    policy, whole = report.policy, report.whole
    kept = [name for name in whole.counted if not policy.time or name != policy.time.field]
    share = f"{whole.below:,} of {whole.rows:,} rows are in classes below k with all that is published"
    if policy.time and policy.time.publish == "keep" and policy.time.field in whole.counted:
        change = {"time": {"publish": "generalize"}}
        return Advice(each.label, f"{share}, the exact time among it", "set time.publish: generalize", change)
    if kept:
        names = ", ".join(kept)
        do = f"leave out {names}, make it a quasi-identifier, or say by because: … why it may be published"
        return Advice(each.label, f"{share}, {names} among it", do, {"attributes": dict.fromkeys(kept)})
    return _against_nulls(report, each, share)


def _against_nulls(report: WindowReport, each: Exposure, because: str) -> Advice:
    policy = report.policy
    if policy.privacy.nulls_match != "blurred":
        return Advice(each.label, because, "set nulls_match: blurred", {"privacy": {"nulls_match": "blurred"}})
    if policy.suppressed == "publish" and report.rows["suppressed"]:
        return Advice(
            each.label, because, "set suppressed: blank, so that rows outside k show no value", {"suppressed": "blank"}
        )
    return Advice(each.label, because, _accepted(each.name))


def _accepted(name: str) -> str:
    return f"decide whether this is acceptable for these recipients; if it is, write privacy: {{accept: {{{name}: …}}}}"


def _grids(report: WindowReport) -> dict[str, Any]:
    open_ones = ((name, each) for name, each in report.policy.quasi if each.range is not None and each.grid is None)
    return {name: {"grid": (each.high - each.low) / _STEPS} for name, each in open_ones}


def _of_data(report: WindowReport) -> Iterator[Advice]:
    policy = report.policy
    share = report.rows["suppressed"] / max(1, report.rows["accepted"])
    if share > _MANY_SUPPRESSED and policy.window is not None:
        length = 2 * policy.window.length
        longer = f"{length:g} seconds" if policy.window.timed else f"{length:,.0f} tuples"
        yield Advice(
            "suppressed",
            f"{percent(share)} of the rows are outside k, and show nothing",
            f"double the window, to {longer}, if that wait is acceptable",
            {"window": {policy.window.kind: length if policy.window.timed else int(length)}},
        )


def _in_words(price: Price) -> str:
    """
    >>> _in_words(Price(20000, 0.25, 0.26, 20000, 19800, 0.37, 0.0))[:94]
    'on the first 20,000 records: 4.0 % more loss (0.250, then 0.260); 1.0 % fewer rows with values'
    """
    change = price.loss_after / price.loss_before - 1 if price.loss_before else 0.0
    more = f"{percent(abs(change))} {'more' if change >= 0 else 'less'} loss"
    parts = [f"{more} ({price.loss_before:.3f}, then {price.loss_after:.3f})"]
    if price.published_after != price.published_before:
        share = price.published_after / max(1, price.published_before) - 1
        parts.append(f"{percent(abs(share))} {'more' if share > 0 else 'fewer'} rows with values")
    if price.kept is not None:
        parts.append(f"the drafted blocks keep {percent(price.kept)} of the information")
    if price.success_before is not None and price.success_after is None:
        parts.append("the attack finds nothing left to try")
    elif price.success_before is not None:
        parts.append(f"the attack is right in {percent(price.success_after)}, before in {percent(price.success_before)}")
    return f"on the first {price.rows:,} records: {'; '.join(parts)}"
