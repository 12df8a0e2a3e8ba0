"""A figure: panels with curves, bars or a heat map; drawn, and as a table of numbers."""

from __future__ import annotations

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal import extras

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = tuple[Sequence[float], Sequence[float]]

_COLOURS: Mapping[str, str] = {
    "FADS": "#0072b2", "FADS, partitioned": "#56b4e9", "IoT": "#e69f00", "K-VARP": "#d55e00", "IDEA": "#009e73",
    "CASTLE": "#8c3a00", "FAST": "#cc79a7", "X-BAND(2)": "#e69f00", "X-BAND(4)": "#b08fd0",
    "X-BAND(6)": "#d55e00", "X-BAND(8)": "#009e73", "X-BAND(10)": "#7b4fa3",
    "tide": "#000000", "tide thorough": "#777777",
}  # fmt: skip
_OTHERS = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#8c3a00", "#555555")
_MARKS = "osD^v<P*X"
_FONT: Any = {
    "font.size": 8, "axes.titlesize": 8.5, "axes.spines.top": False, "axes.spines.right": False, "legend.fontsize": 7,
    "svg.hashsalt": "shoal", "lines.markersize": 3.5, "lines.linewidth": 1.2,
}  # fmt: skip


@dataclass(frozen=True)
class Panel:
    """Axes. With `heat`, its rows are the keys of `curves` and its columns their x."""

    title: str
    x: str
    y: str
    curves: Mapping[str, Curve]
    log: str = ""  # "x", "y" or "xy"
    points: bool = False
    heat: bool = False
    bare: bool = False  # without marks: curves of many points
    zero: bool = True  # the y axis starts at 0


@dataclass(frozen=True)
class Figure:
    """`name` is that of its files."""

    name: str
    title: str
    panels: Sequence[Panel]
    columns: int = 2
    note: str = ""
    size: tuple[float, float] = field(default=(3.4, 2.5))  # inches, of a panel

    def write(self, folder: Path, source: Mapping[str, str] | None = None) -> None:
        """NAME.csv, NAME.png and NAME.svg; `source` are columns that say where the figures come from."""
        source = source or {}
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{self.name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["panel", "curve", "x", "y", *source])
            writer.writerows((*row, *source.values()) for row in self.rows())
        self._draw(folder)

    def rows(self) -> list[tuple[str, str, float, float]]:
        """Every point, with its panel and its curve."""
        return [
            (panel.title, label, x, y)
            for panel in self.panels
            for label, (xs, ys) in panel.curves.items()
            for x, y in zip(xs, ys, strict=True)
        ]

    def _draw(self, folder: Path) -> None:
        pyplot = extras.pyplot()
        columns = min(self.columns, len(self.panels))
        rows = -(-len(self.panels) // columns)
        width, height = self.size
        with pyplot.rc_context(_FONT):
            drawing, grid = pyplot.subplots(
                rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained"
            )
            alike = len(self.panels) > 2 and len({tuple(panel.curves) for panel in self.panels}) == 1
            for place, panel in zip(grid.flat, self.panels, strict=False):
                (_heat if panel.heat else _curves)(place, panel)
                if len(panel.curves) > 1 and not panel.heat and not alike:
                    place.legend(frameon=False)
            if alike and not self.panels[0].heat:
                drawing.legend(*grid.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=5, frameon=False)
            for place in list(grid.flat)[len(self.panels) :]:
                place.axis("off")
            drawing.draw_without_rendering()
            drawing.set_layout_engine("none")
            drawing.savefig(folder / f"{self.name}.png", dpi=90, metadata={"Software": None})
            drawing.savefig(folder / f"{self.name}.svg", metadata={"Date": None})
            pyplot.close(drawing)


def _curves(place: Axes, panel: Panel) -> None:
    for i, (label, (xs, ys)) in enumerate(panel.curves.items()):
        colour = _COLOURS.get(label, _OTHERS[i % len(_OTHERS)])
        style: Any = {"linestyle": "none"} if panel.points else {"linestyle": "--"} if label.endswith("simulated") else {}
        place.plot(xs, ys, color=colour, marker="" if panel.bare else _MARKS[i % len(_MARKS)], label=label, **style)
    if "x" in panel.log:
        place.set_xscale("log")
        _ticks(place, [x for xs, _ in panel.curves.values() for x in xs])
    if "y" in panel.log:
        place.set_yscale("log")
    elif panel.zero:
        place.set_ylim(bottom=0)
    place.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    if not panel.curves:
        place.text(0.5, 0.5, "not measured", transform=place.transAxes, ha="center", va="center")


def _ticks(place: Axes, xs: Sequence[float]) -> None:
    """Few and plain: matplotlib writes all between two powers of ten if there is only one."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    decades = math.log10(max(xs) / min(xs)) if xs else 1
    place.xaxis.set_major_locator(LogLocator(subs=(1.0,) if decades > 3 else (1.0, 3.0) if decades > 1.3 else (1.0, 2.0, 5.0)))
    place.xaxis.set_major_formatter(FuncFormatter(lambda x, _: short(x)))
    place.xaxis.set_minor_formatter(NullFormatter())


def short(number: float) -> str:
    """A number for an axis.

    >>> [short(number) for number in (0.02, 300, 2000, 300_000, 3e6)]
    ['0.02', '300', '2k', '300k', '3M']
    """
    for unit, name in ((1e6, "M"), (1e3, "k")):
        if number >= unit:
            return f"{number / unit:g}{name}"
    return f"{number:.3g}"


def _heat(place: Axes, panel: Panel) -> None:
    labels = list(panel.curves)
    image = place.imshow([list(panel.curves[label][1]) for label in labels], aspect="auto", cmap="Blues", vmin=0)
    place.set_yticks(range(len(labels)), labels)
    xs = list(next(iter(panel.curves.values()))[0])
    ticks = range(0, len(xs), 4)
    place.set_xticks(ticks, [f"{xs[i]:g}" for i in ticks])
    place.set(title=panel.title, xlabel=panel.x, ylabel=panel.y)
    place.figure.colorbar(image, ax=place)
