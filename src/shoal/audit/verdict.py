"""The verdict in one sentence and one colour. It never says more than was checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from shoal.audit.attacks.attack import Attack
from shoal.audit.exposure import Exposure, beats_chance
from shoal.audit.finding import Finding, Verdict
from shoal.audit.whole_rows import WholeRows
from shoal.policy import Policy

if TYPE_CHECKING:
    from shoal.audit.report import FilterReport, WindowReport

Colour = Literal["green", "amber", "red"]
_NAMED = 5
_HIDING = 2  # the least k, and the least z, that hides anyone
_OUTSIDE = {
    "blank": "they show no value at all",
    "publish": "they show their sensitive and kept values",
    "drop": "they are not in the output",
}


@dataclass(frozen=True)
class Headline:
    """The verdict: red if a promise was broken, amber if an outsider can do more than accepted or not all could be checked."""

    colour: Colour
    text: str
    outside: str  # how many rows are outside k, in words; empty where there is no k


def headline(report: WindowReport) -> Headline:
    """The verdict on a window."""
    policy = report.policy
    broken, open_ones = _of(report.promises, Verdict.BROKEN), _of(report.promises, Verdict.NOT_CHECKABLE)
    worse = [each for each in report.exposures if each.is_worse]
    gaps = _gaps(report.promises)
    outside = outside_k(policy, report.rows["suppressed"], report.rows["accepted"])
    if broken:
        colour: Colour = "red"
        parts = [f"{_counted(len(broken), 'promise')} broken: {', '.join(broken)}"]
    else:
        colour = "amber" if worse or open_ones or gaps or policy.privacy.k < _HIDING else "green"
        parts = [holds(policy, report.whole)] if "k persons" not in open_ones else ["no promise was seen to be broken"]
        parts += [f"not checkable: {', '.join(open_ones)}"] if open_ones else []
    parts += counted_as_persons(policy, report.promises)
    parts += gaps
    parts += [_worse(worse)] if worse else []
    if tolerated := [each for each in report.exposures if each.is_tolerated]:
        parts.append(f"accepted by the policy, and more than chance: {_few(tolerated)}")
    untried = sum(each.success is None and "trace" in each.obstacle for each in report.exposures)
    if untried:
        without = "without a trace " if any("without the trace" in each.obstacle for each in report.exposures) else ""
        parts.append(f"{without}{_counted(untried, 'attack')} could not be tried")
    elif not worse and not broken and policy.privacy.k >= _HIDING and any(each.tried for each in report.exposures):
        parts.append("no attack that was tried did clearly better than chance or than accepted")
    parts += not_counted(report.whole)
    return Headline(colour, "; ".join(parts), outside)


def filter_headline(report: FilterReport) -> Headline:
    """The verdict on z-anonymity."""
    broken, open_ones = _of(report.promises, Verdict.BROKEN), _of(report.promises, Verdict.NOT_CHECKABLE)
    if broken:
        return Headline("red", f"{_counted(len(broken), 'promise')} broken: {', '.join(broken)}", "")
    attacks, z = report.figures.attacks, report.policy.algorithm.model_dump()["z"]
    worse = [each for each in attacks if beats_chance(each)]
    doubts = [f"not checkable: {', '.join(open_ones)}"] if open_ones else []
    doubts += [f"z = {z} withholds nothing: an item of a single user is published"] if z in range(_HIDING) else []
    doubts += [f"an outsider can do more than chance: {', '.join(map(_linked, worse))}"] if worse else []
    kept = "no promise was seen to be broken" if open_ones else "every promise was kept"
    bounds = "they bound the users of an item, and nothing else that is published"
    return Headline("amber" if doubts else "green", "; ".join([kept, *doubts] if open_ones else [kept, bounds, *doubts]), "")


def _linked(attack: Attack) -> str:
    return f"{attack.name} {percent(attack.success)} (chance {percent(attack.baseline)})"


def holds(policy: Policy, whole: WholeRows) -> str:
    """For what k holds.

    A field that is published and not counted is named by `not_counted`.
    """
    k, quasi = policy.privacy.k, [name for name, _ in policy.quasi]
    if not whole.rows:
        return f"no row shows values, so there was nothing for which k = {k} could hold"
    if k < _HIDING:
        return f"k = {k} hides nobody: a row may show what only one of the {_unit(policy)} has"
    if not whole.below:
        return f"k = {k} holds for {_listed([*quasi, *whole.counted])}"
    if whole.counted:
        return f"k = {k} holds for {_listed(quasi)} alone: with {_listed(whole.counted)}, {whole.below:,} rows are below k"
    return f"k = {k} holds within groups, but {whole.below:,} rows look like fewer than {k} {_unit(policy)}"


def counted_as_persons(policy: Policy, promises: Sequence[Finding]) -> list[str]:
    """What was counted as persons and may not be, in words."""
    if policy.person is None:
        return ["each row counts as a person, since the policy names none"]
    unnamed = sum(each.figures.get("unnamed", 0) for each in promises if each.promise == "k persons")
    if not unnamed:
        return []
    return [f"{unnamed:,} row{'' if unnamed == 1 else 's'} without a person count{'s' if unnamed == 1 else ''} as one each"]


def outside_k(policy: Policy, suppressed: int, accepted: int) -> str:
    """How many rows k says nothing about, in words that cannot be misread."""
    if not suppressed:
        return f"0 of {accepted:,} rows are outside k."
    share = 100 * suppressed / max(accepted, 1)
    percent = f"{share:.1f}" if share >= 0.1 else "under 0.1"
    return (
        f"{suppressed:,} of {accepted:,} rows ({percent} %) are OUTSIDE k: no group of {policy.privacy.k} persons was found "
        f"for them in time. They are suppressed: {_OUTSIDE[policy.suppressed]}."
    )


def _worse(worse: Sequence[Exposure]) -> str:
    than = "accepted" if any(each.fails for each in worse) else "chance"
    return f"an outsider can do more than {than}: {_few(worse)}"


def _few(found: Sequence[Exposure]) -> str:
    named = [_one(each) for each in found[:_NAMED]]
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"{', '.join(named)}{more}"


def _one(each: Exposure) -> str:
    accepted = f", accepted {percent(each.accepted)}" if each.accepted is not None else ""
    return f"{each.label} {percent(each.success)} (chance {percent(each.chance)}{accepted})"


def percent(share: float | None) -> str:
    """
    >>> percent(0.371), percent(0.00004), percent(0.0), percent(None)
    ('37.1 %', 'under 0.1 %', '0 %', 'unknown')
    """
    if share is None:
        return "unknown"
    return "0 %" if share == 0 else "under 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def not_counted(whole: WholeRows) -> list[str]:
    """The fields that are published and not counted, in words."""
    names = list(whole.reasons)
    if not names:
        return []
    noun = "field, published as it is, was" if len(names) == 1 else "fields, published as they are, were"
    return [f"{_number(len(names))} {noun} not counted, by the policy's own reasons: {_listed(names)}"]


def _gaps(promises: Sequence[Finding]) -> list[str]:
    """Blocks that protect less than the policy asks for."""
    blocks = [each.figures for each in promises if each.promise == "blocks"]
    return [
        f"{name}: {figures['gap'].removeprefix('but ')}" for each in blocks for name, figures in each.items() if figures["gap"]
    ]


def _of(promises: Sequence[Finding], verdict: Verdict) -> list[str]:
    return [finding.promise for finding in promises if finding.verdict == verdict]


def _unit(policy: Policy) -> str:
    return "rows" if policy.person is None else "persons"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _number(number: int) -> str:
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else f"{number:,}"


def _listed(names: Sequence[str]) -> str:
    """
    >>> _listed(["age", "sex", "city"])
    'age, sex and city'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"
