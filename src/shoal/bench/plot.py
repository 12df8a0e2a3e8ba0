"""The figures as a picture: bars for the speeds, loss against cost, curves for the growth and for sparse streams."""

from __future__ import annotations

from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from shoal import extras
from shoal.bench.machine import described
from shoal.bench.report import Report
from shoal.bench.speed import AXES, BLURRED
from shoal.bench.table import count, rate
from shoal.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN = ("speed", "growth", "sparse")
COLOURS = ("#0072b2", "#56b4e9", "#009e73", "#e69f00", "#d55e00", "#8c3a00", "#cc79a7", "#555555", "#000000", "#7a68c8")
MARKS = "osD^v<P*Xh"
_FONT: Any = {"font.size": 11, "axes.titlesize": 11.5, "axes.spines.top": False, "axes.spines.right": False}


def check_plot(path: str | PathLike[str], parts: list[str]) -> None:
    """Refuse what could not be drawn, before it is measured.

    Raises InputError if the name tells no kind of picture, none of the parts has one, or matplotlib is not installed.
    """
    extras.check_plot(fspath(path))
    if not set(parts) & set(DRAWN):
        raise InputError(f"a plot shows {', '.join(DRAWN)}, and none of them is measured; add one")


def plot(report: Report, path: str | PathLike[str]) -> None:
    """Draw the speeds, the growth and the sparse streams, as far as they were measured."""
    check_plot(path, list(report.parts))
    pyplot = extras.pyplot()
    drawn = [part for part in DRAWN if part in report.parts]
    heights = {"speed": 0.42 * len(report.parts.get("speed", {"rows": []})["rows"]) + 1.6, "growth": 4.6, "sparse": 4.6}
    ratios = [heights[part] for part in drawn]
    with pyplot.rc_context(_FONT):
        figure = pyplot.figure(figsize=(13, sum(ratios) + 0.9), layout="constrained")
        try:
            rows = figure.subfigures(len(drawn), 1, height_ratios=ratios, squeeze=False)
            for part, (row,) in zip(drawn, rows, strict=True):
                {"speed": _speed, "growth": _growth, "sparse": _sparse}[part](row, report.parts[part])
            figure.supxlabel(described(report.machine), fontsize=9, color="#555555")
            figure.savefig(path, dpi=130)
        except OSError as error:
            reason = (error.strerror or "no access").lower()
            raise InputError(f"{fspath(path)}: cannot be written ({reason})") from None
        finally:
            pyplot.close(figure)


def _speed(figure: Any, result: Any) -> None:
    axes, other = figure.subplots(1, 2, width_ratios=(3, 2))
    _loss_against_cost(other, result["rows"])
    rows = result["rows"][::-1]
    labels = [row["algorithm"] for row in rows]
    for shift, size, colour in ((0.2, "small", "#9ecae1"), (-0.2, "large", "#0072b2")):
        timings = [row[size] for row in rows]
        places = [place + shift for place in range(len(rows))]
        rates = [timing["rate"] for timing in timings]
        bars = axes.barh(places, rates, 0.38, color=colour, label=f"{count(timings[0]['tuples'])} tuples")
        axes.bar_label(bars, [rate(each) for each in rates], padding=4, fontsize=9)
    axes.set_yticks(range(len(rows)), labels)
    axes.xaxis.set_major_formatter(lambda value, _: rate(value) if value else "0")
    axes.set_xlabel("tuples per second, one core")
    axes.set_title("Speed in memory, Arrow in to Arrow out", loc="left")
    axes.margins(x=0.08)
    axes.grid(axis="x", alpha=0.3)
    axes.set_axisbelow(True)
    axes.legend(loc="lower right", framealpha=1)


def _loss_against_cost(axes: Axes, rows: Any) -> None:
    """Each algorithm as a point, under both readings of nulls: down and to the left is better."""
    for i, row in enumerate(rows):
        colour, mark = COLOURS[i % len(COLOURS)], MARKS[i % len(MARKS)]
        points = ((row["large"]["ns"], row["loss"]), (row[BLURRED]["ns"], row[f"{BLURRED}_loss"]))
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=0.6)
        for point, face in zip(points, ("none", colour), strict=True):
            axes.plot(*point, linestyle="", color=colour, marker=mark, markerfacecolor=face)
        axes.annotate(row["algorithm"], points[1], xytext=(6, 4), textcoords="offset points", fontsize=9)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylim(0, 1.15 * max(row["loss"] for row in rows))
    axes.set_xlabel("ns per tuple; filled: blurred, hollow: maybe")
    axes.set_ylabel("loss")
    axes.set_title("Loss against cost", loc="left")
    axes.margins(x=0.2)
    axes.grid(alpha=0.3)


def _growth(figure: Any, result: Any) -> None:
    panels = figure.subplots(1, len(AXES), sharey=True)
    algorithms = list(dict.fromkeys(row["algorithm"] for row in result["rows"]))
    for axes, (axis, name) in zip(panels, AXES.items(), strict=True):
        rows = [row for row in result["rows"] if row["axis"] == axis]
        values = sorted({row["value"] for row in rows})
        for i, algorithm in enumerate(algorithms):
            costs = [row["timing"]["ns"] for row in rows if row["algorithm"] == algorithm]
            axes.plot(
                values, costs, color=COLOURS[i % len(COLOURS)], marker=MARKS[i % len(MARKS)], markersize=5, label=algorithm
            )
        _logarithmic(axes, values, linear=axis == "quasi")
        others = ", ".join(f"{AXES[other]} {result['fixed'][other]:,}" for other in ("window", "k") if other != axis)
        axes.set_title(f"by {name} ({others})", loc="left")
        axes.set_xlabel(name)
    panels[0].set_ylabel("ns per tuple")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)


def _logarithmic(axes: Axes, values: list[int], linear: bool) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.yaxis.set_minor_formatter(NullFormatter())
    if not linear:
        axes.set_xscale("log")
    axes.set_xticks(values, [f"{value:,}" for value in values])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


def _sparse(figure: Any, result: Any) -> None:
    """Loss and mean wait by how many persons arrive in a window, one curve for each stretch."""
    sides = (("loss", "mean loss"), ("wait", "mean wait, in windows"))
    for axes, (key, label) in zip(figure.subplots(1, len(sides)), sides, strict=True):
        for i, stretch in enumerate(dict.fromkeys(row["stretch"] for row in result["rows"])):
            own = [row for row in result["rows"] if row["stretch"] == stretch]
            name = f"stretch {stretch}" if stretch > 1 else "suppress"
            rates, figures = [row["rate"] for row in own], [row[key] for row in own]
            axes.plot(rates, figures, color=COLOURS[2 * i], marker=MARKS[i], label=name)
        axes.set_xscale("log")
        axes.set_xticks([0.25, 0.5, 1, 2, 4], ["¼", "½", "1", "2", "4"])
        axes.minorticks_off()
        axes.set_xlabel("persons that arrive in one window, in units of k")
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.25)
        axes.legend(frameon=False)
    figure.suptitle(f"Sparse streams: {result['algorithm']} on {result['data']}, k {result['k']}")
