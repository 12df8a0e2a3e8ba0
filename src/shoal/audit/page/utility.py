"""Waiting, loss, and what the published stream is still good for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from shoal.audit.answers import CategoryAnswer, NumberAnswer
from shoal.audit.page.element import (
    Markup,
    Part,
    bars,
    count,
    decimal,
    histogram,
    line,
    pair,
    percent,
    section,
    span,
    table,
    tag,
)

if TYPE_CHECKING:
    from shoal.audit.report import WindowReport


def _waiting(report: WindowReport) -> Markup:
    """How long tuples were held."""
    figures = report["in time"].figures
    counts = figures.get("histogram", {}).get("counts", [])
    if not counts:
        return tag("p", "The trace shows how long tuples were held; it was not given.", class_="note")
    unit, top = figures["unit"], figures["histogram"]["edges"][-1]
    shares = {float(share): wait for share, wait in figures["shares"].items()}
    caption = (
        f"Waiting: half of the tuples at most {span(shares[0.5], unit)}, nine in ten at most {span(shares[0.9], unit)}, "
        f"the longest {span(figures['longest'], unit)}."
    )
    deadline = figures.get("deadline")
    mark = (deadline / top, f"deadline {span(deadline, unit)}") if deadline and deadline <= top * 1.0001 else None
    return histogram(caption, counts, ("0", span(top / 2, unit), span(top, unit)), f"{count(max(counts))} tuples", mark)


def utility(report: WindowReport) -> Markup:
    """Loss per attribute and over time, and the other measures of the papers."""
    use = report.figures.utility
    mean = use.loss.mean
    losses: list[tuple[Part, float, Part, str]] = [
        (name, each, decimal(each), "mean") for name, each in sorted(use.loss.attribute.items(), key=lambda item: -item[1])
    ]
    over_time = use.loss.over_time
    spread = f"from {decimal(min(over_time))} to {decimal(max(over_time))}" if over_time else "unknown"
    stretches = f"means of {len(over_time)} stretches of the output, {spread}"
    caption = f"Loss over time: {stretches}; dashed: mean of all, {decimal(mean)}."
    axis = ("first row", f"row {count(report.rows['output'])}")
    measures = [
        ("mean loss", decimal(mean), "0: unchanged; 1: nothing left"),
        ("in doubt", percent(use.doubt), "values of rows not suppressed that say “or missing”"),
        ("mean cost with waiting", _or_trace(use.cost), "loss, doubled for a wait of the window's length (FAST, equation 8)"),
        ("suppressed", percent(use.suppressed), "rows that show the root everywhere"),
        ("reused", "needs a trace" if use.reused is None else percent(use.reused), "rows that show an earlier generalization"),
        (
            "cluster purity",
            "needs a trace" if use.purity is None else f"{percent(use.purity.mean)}, least {percent(use.purity.smallest)}",
            "values that members had, of all they could have (X-BAND)",
        ),
        ("discernibility", count(use.discernibility), "sum of the squares of the class sizes; a suppressed row counts as all"),
    ]
    return section(
        "utility",
        "3. What is left of the data? Loss and waiting",
        pair(
            bars("Loss per attribute, over the rows that show it", losses, ("attribute", "loss")),
            tag("div", line(caption, over_time, axis, "loss 1", mean), _waiting(report)),
        ),
        table("Measures of the papers", ("measure", "value", "what it is"), measures, numbers=9),
    )


def _or_trace(number: float | None) -> str:
    return "needs a trace" if number is None else decimal(number)


def answers(report: WindowReport) -> Markup:
    """How far the answers to usual questions lie from the truth."""
    found = report.figures.utility.answers
    parts: list[Part] = [
        tag(
            "p",
            "How far the answers that an analyst gets from the published rows lie from those of the input. Intervals and nodes "
            "are read as any of their values with the same chance; suppressed rows are left out and counts scaled up. A value "
            "in doubt counts for less than one, by an estimate from the published rows.",
        )
    ]
    if found.numbers:
        parts.append(_numbers(found.numbers))
    if found.categories:
        parts.append(_categories(found.categories))
    if found.pairs:
        text = (
            f"Counts with conditions on two attributes at once, {found.pairs} of them: median error "
            f"{_times(found.pair_median)}, mean {_times(found.pair_mean)}."
        )
        parts.append(tag("p", text))
    return section("answers", "Answers", *parts)


def _numbers(found: Mapping[str, NumberAnswer]) -> Markup:
    caption = "Numbers: errors of mean and median as shares of the range, and of counts within ranges as shares of the count"
    rows = [
        (name, percent(each.mean), percent(each.median), _times(each.range_median), _times(each.range_mean))
        for name, each in found.items()
    ]
    return table(caption, ("attribute", "mean", "median", "range count, median error", "range count, mean error"), rows)


def _categories(found: Mapping[str, CategoryAnswer]) -> Markup:
    rows = [(name, f"{each.found} of {each.top}", _times(each.count)) for name, each in found.items()]
    head = ("attribute", "of the most frequent, found", "error of their counts")
    return table("Categories: the ten most frequent", head, rows)


def _times(error: float) -> str:
    """An error in percent; from twice on in times.

    >>> _times(0.25)[:2], _times(19.74)
    ('25', '20 times')
    """
    return percent(error) if error <= 1 else f"{error:,.0f} times" if error >= 10 else f"{error:.1f} times"
