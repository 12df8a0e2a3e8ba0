"""The three answers in words that can be copied into a letter, without symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.audit.finding import Verdict
from shoal.audit.verdict import percent

if TYPE_CHECKING:
    from shoal.audit.exposure import Exposure
    from shoal.audit.report import FilterReport, Report, WindowReport

_MEANS = {
    "singling out": "isolate the rows of one person",
    "linking": "connect rows with a person",
    "inferring": "infer a value of a person",
}


def answers(report: WindowReport) -> tuple[str, str, str]:
    """The answers on a window."""
    return _kept(report), _outsider(report), _left(report)


def filter_answers(report: FilterReport) -> tuple[str, str, str]:
    """The answers on z-anonymity."""
    rows = report.rows
    done = [each for each in report.figures.attacks if each.success is not None and each.baseline is not None]
    said = "; ".join(f"{each.name}: right in {percent(each.success)}, by chance in {percent(each.baseline)}" for each in done)
    outsider = "The output holds pseudonyms and exact times. It is personal data, with less risk than the input. " + (
        f"Attacks on pseudonyms were run: {said}." if said else "No attack was run: that needs the trace."
    )
    return (
        _kept(report),
        outsider,
        f"{rows['output']:,} rows are published of {rows['accepted']:,} accepted observations; {rows['withheld']:,} are "
        "withheld.",
    )


def _kept(report: Report) -> str:
    by = {verdict: [each.promise for each in report.promises if each.verdict == verdict] for verdict in Verdict}
    broken, unknown, held = by[Verdict.BROKEN], by[Verdict.NOT_CHECKABLE], by[Verdict.HELD]
    if broken:
        return f"No. {len(broken)} of {len(broken) + len(held)} checked promises were broken: {', '.join(broken)}."
    if unknown:
        return f"As far as could be seen: {len(held)} promises were kept, and {', '.join(unknown)} could not be checked."
    return f"Yes. All {len(held)} promises were checked, and kept."


def _outsider(report: WindowReport) -> str:
    tried = [each for each in report.exposures if each.success is not None and each.tried]
    worse = [each for each in tried if each.is_worse]
    untried = len(report.exposures) - len(tried)
    missing = f" {untried} attacks could not be tried." if untried else ""
    if not tried:
        return "No attack could be tried on this output."
    if not worse:
        tolerated = [f"{each.label}, right in {percent(each.success)}" for each in tried if each.is_tolerated]
        told = f" More than chance, and accepted by the policy: {'; '.join(tolerated)}." if tolerated else ""
        return (
            f"{len(tried)} attacks were run on this output. None did clearly better than chance, or than is accepted."
            f"{told}{missing}"
        )
    first = worst(report)
    assert first is not None
    accepted = f", and {percent(first.accepted)} is accepted" if first.accepted is not None else ""
    return (
        f"{len(tried)} attacks were run on this output, and {len(worse)} did better than accepted or than chance. "
        f"The worst, {first.label}, tries to {_MEANS[first.kind]}: it is right in {percent(first.success)} of its attempts, "
        f"by chance it would be in {percent(first.chance)}{accepted}.{missing}"
    )


def worst(report: WindowReport) -> Exposure | None:
    """The attack that gains most over its bound, the failed ones first; None if none was tried."""
    return next((each for each in report.exposures if each.success is not None), None)


def _left(report: WindowReport) -> str:
    rows, use = report.rows, report.figures.utility
    outside = rows["suppressed"] / max(1, rows["accepted"])
    parts = [
        f"{rows['output']:,} rows are published of {rows['accepted']:,} accepted records, {percent(outside)} of them without "
        "detail, since no group was found in time." if rows["suppressed"] else
        f"{rows['output']:,} rows are published of {rows['accepted']:,} accepted records.",
        f"On a scale from 0 (unchanged) to 1 (nothing left) the values lost {use.loss.mean:.2f} on average.",
    ]  # fmt: skip
    if use.answers.pairs:
        parts.append(f"A count with two conditions is off by {percent(use.answers.pair_median)} in the median.")
    return " ".join(parts)
