"""Measures the curves of docs/choosing.md: what is lost by k, by window and by number of quasi-identifiers.

python benchmarks/choosing.py --data DIR

UCI Adult with up to 3 missing values, its first 12,000 rows, nulls read as by default. Writes docs/choosing.csv and
docs/choosing.png, and the tables into docs/choosing.md.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from shoal.bench import anonymize, variants
from shoal.datasets import DataSet, adult

DOCS = Path(__file__).parents[1] / "docs"
TUPLES, MISSING, SEED = 12_000, 3, 0
FIXED: Mapping[str, int] = {"k": 20, "window": 2000, "quasi": 14}
AXES: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "k": ("k", (5, 10, 20, 50, 100, 200)),
    "window": ("window, arrivals", (250, 500, 1000, 2000, 4000, 8000)),
    "quasi": ("quasi-identifiers", (2, 4, 6, 8, 10, 14)),
}
DRAWN = ("tide quick", "xband 10", "castle", "kvarp", "fads", "idea", "iot", "fast")
START, END = "<!-- curves: {} -->", "<!-- /curves: {} -->"


class Point(NamedTuple):
    axis: str
    value: int
    algorithm: str
    loss: float
    suppressed: float  # share of the tuples


def points(people: DataSet) -> Iterator[Point]:
    for axis, (_, values) in AXES.items():
        for value in values:
            at = {**FIXED, axis: value}
            short = people.of(dict(islice(people.quasi.items(), at["quasi"]))).head(TUPLES)
            batches = short.missing(min(MISSING, at["quasi"] - 1), SEED).rows.combine_chunks().to_batches()
            for each in variants():
                policy = short.policy(each.algorithm, at["k"], {"count": at["window"]}, nulls_match="blurred")
                stats = anonymize(policy, batches)
                yield Point(axis, value, each.label, round(stats.loss, 4), round(stats.suppressed / stats.released, 4))


def write(found: list[Point], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Point._fields)
        rows.writerows(found)


def read(path: Path) -> list[Point]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Point(row["axis"], int(row["value"]), row["algorithm"], float(row["loss"]), float(row["suppressed"]))
            for row in csv.DictReader(file)
        ]


def table(found: list[Point], axis: str) -> str:
    """The losses along one axis, one row for each algorithm."""
    own = [point for point in found if point.axis == axis]
    values = sorted({point.value for point in own})
    lines = [f"| {AXES[axis][0]} | {' | '.join(f'{value:,}' for value in values)} |", "|---" + "|--:" * len(values) + "|"]
    for algorithm in dict.fromkeys(point.algorithm for point in own):
        losses = {point.value: point.loss for point in own if point.algorithm == algorithm}
        lines.append(f"| {algorithm} | {' | '.join(f'{losses[value]:.3f}' for value in values)} |")
    return "\n".join(lines)


def page(text: str, found: list[Point]) -> str:
    """The text with the tables between its markers."""
    for axis in AXES:
        before, start, rest = text.partition(START.format(axis))
        _, end, after = rest.partition(END.format(axis))
        if not start or not end:
            raise SystemExit(f"the page lacks {START.format(axis)} and {END.format(axis)}")
        text = f"{before}{start}\n\n{table(found, axis)}\n\n{end}{after}"
    return text


def draw(found: list[Point], path: Path) -> None:
    from shoal import extras
    from shoal.bench import COLOURS, MARKS

    pyplot = extras.pyplot()

    style: Any = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False}
    with pyplot.rc_context(style):
        figure, panels = pyplot.subplots(1, len(AXES), figsize=(12, 4.4), sharey=True, layout="constrained")
        for axes, (axis, (name, values)) in zip(panels, AXES.items(), strict=True):
            for i, algorithm in enumerate(DRAWN):
                losses = [point.loss for point in found if (point.axis, point.algorithm) == (axis, algorithm)]
                axes.plot(values, losses, color=COLOURS[i % 9], marker=MARKS[i % 9], markersize=4, label=algorithm)
            if axis != "quasi":
                axes.set_xscale("log")
            axes.set_xticks(values, [f"{value:,}" for value in values])
            axes.minorticks_off()
            others = ", ".join(f"{AXES[other][0].split(',')[0]} {FIXED[other]:,}" for other in AXES if other != axis)
            axes.set_title(others, loc="left", fontsize=9)
            axes.set_xlabel(name)
            axes.set_ylim(0, 1)
            axes.grid(alpha=0.3)
        panels[0].set_ylabel("mean loss")
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
        figure.savefig(path, dpi=110)
        pyplot.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measures the curves of docs/choosing.md.")
    parser.add_argument("--data", required=True, type=Path, help="the folder that holds adult/")
    found = list(points(adult.dataset(parser.parse_args().data / "adult")))
    write(found, DOCS / "choosing.csv")
    draw(found, DOCS / "choosing.png")
    target = DOCS / "choosing.md"
    target.write_text(page(target.read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    main()
