"""Draws the pictures of the documentation as SVG, each for light and for dark pages.

python -m tools.pictures
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from math import log10
from pathlib import Path

from tools.animation import HEIGHT, WIDTH, parts

DOCS = Path(__file__).resolve().parents[1] / "docs"

_LIGHT = {
    "paper": "#fff", "ink": "#16232e", "dim": "#51606d", "line": "#6b7a88", "box": "#fff", "soft": "#f0f4f8", "mark": "#fdf3d7",
    "edge": "#a97a00", "good": "#e6f4ea", "deep": "#2f7d4f", "bad": "#fbe9e7", "hurt": "#b3412e",
}  # fmt: skip
_DARK = {
    "paper": "#1e2129", "ink": "#e8edf2", "dim": "#aab6c2", "line": "#8896a5", "box": "#2a2f3a", "soft": "#252a34",
    "mark": "#4a3c10", "edge": "#e0b13c", "good": "#1d3b2a", "deep": "#6fca94", "bad": "#4a2620", "hurt": "#f09a88",
}  # fmt: skip
_SHAPES = """text { fill: var(--ink) }
.dim, .small { fill: var(--dim) } .small { font-size: 12px }
.bold { font-weight: 600 } .code { font-family: ui-monospace, monospace }
.box { fill: var(--box); stroke: var(--line) } .soft { fill: var(--soft); stroke: none }
.mark { fill: var(--mark); stroke: var(--edge) } .good { fill: var(--good); stroke: var(--deep) }
.bad { fill: var(--bad); stroke: var(--hurt) } .arrow { stroke: var(--line); stroke-width: 1.4; fill: none }
.grid { stroke: var(--line); stroke-width: .5; fill: none; opacity: .6 }"""
_TIP = (
    '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8z" style="fill: var(--line)"/></marker></defs>'
)


def _style() -> str:
    """The colours, for light and for dark pages, and what is drawn with them."""
    light, dark = ("; ".join(f"--{name}: {colour}" for name, colour in part.items()) for part in (_LIGHT, _DARK))
    scheme = f"svg {{ {light} }}\n@media (prefers-color-scheme: dark) {{ svg {{ {dark} }} }}"
    return f"<style>\n{scheme}\n{_SHAPES}\n</style>\n{_TIP}"


class Picture:
    """Shapes and texts on a sheet; positions are pixels from its upper left corner."""

    def __init__(self, width: int, height: int, title: str, description: str) -> None:
        self.size = width, height
        self._head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="system-ui, sans-serif" '
            f'font-size="13" role="img" aria-labelledby="t d">\n<title id="t">{escape(title)}</title>\n'
            f'<desc id="d">{escape(description)}</desc>\n{_style()}\n'
            f'<rect width="{width}" height="{height}" rx="8" style="fill: var(--paper)"/>'
        )
        self._parts: list[str] = []

    def box(self, x: float, y: float, width: float, height: float, lines: Sequence[str] = (), kind: str = "box") -> None:
        """A box with centred lines; the first one is bold."""
        self._parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')
        for number, line in enumerate(lines):
            down = y + height / 2 + 17 * (number - (len(lines) - 1) / 2) + 4.5
            self.text(x + width / 2, down, line, "small" if number else "bold", "middle")

    def text(self, x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> None:
        classes = f' class="{kind}"' if kind else ""
        self._parts.append(f'<text{classes} x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(text)}</text>')

    def line(self, path: str) -> None:
        self._parts.append(f'<path class="grid" d="{path}"/>')

    def point(self, x: float, y: float, kind: str) -> None:
        self._parts.append(f'<circle class="{kind}" cx="{x:g}" cy="{y:g}" r="6"/>')

    def arrow(self, path: str) -> None:
        self._parts.append(f'<path class="arrow" marker-end="url(#tip)" d="{path}"/>')

    def add(self, *parts: str) -> None:
        """Elements as they are."""
        self._parts += parts

    def svg(self) -> str:
        return "\n".join([self._head, *self._parts, "</svg>\n"])


def shoal(moving: bool = True) -> Picture:
    """Records of the demo hide in their group. It moves once; a still one is for readers who want no motion."""
    description = (
        "Records swim in with their exact values, such as 42, sitting, Meadow. They wait at most ten seconds. Then 20 of them "
        "come together and leave as one: all show 25 – 45, sitting, South. Others still wait, or have just come."
    )
    picture = Picture(WIDTH, HEIGHT, "How a record hides in its shoal", description)
    picture.add(*parts(moving))
    return picture


def group() -> Picture:
    """One group before and after."""
    title = "One group, before and after"
    description = (
        "Four records of four persons, k = 4. Before: exact values, one age missing. After: four equal rows in age, city and "
        "time; the diagnosis is published as it came, the person is not."
    )
    picture = Picture(960, 290, title, description)
    before = [
        ("p17", "08:00:04", "34", "Paris", "flu"),
        ("p02", "08:00:05", "38", "Lyon", "asthma"),
        ("p31", "08:00:05", "missing", "Paris", "none"),
        ("p08", "08:00:09", "31", "Lyon", "flu"),
    ]
    after = [("08:00:00-00:10", "30-40 or missing", "France", row[-1]) for row in before]
    _table(
        picture,
        20,
        "before: four records wait",
        ("person", "time", "age", "city", "illness"),
        before,
        (60, 76, 72, 60, 66),
        "bad",
    )
    picture.arrow("M 372 160 H 426")
    _table(picture, 440, "after: one group leaves", ("time", "age", "city", "illness"), after, (126, 146, 84, 84), "good")
    picture.text(
        20, 262, "The person's field is dropped. Numbers become intervals, cities become a node of their hierarchy.", "dim"
    )
    picture.text(
        20,
        280,
        "One age was missing, so all four rows say so: nobody can tell which one. The illness is published as it came.",
        "dim",
    )
    return picture


def _table(
    picture: Picture,
    x: float,
    title: str,
    names: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    kind: str,
) -> None:
    picture.text(x, 32, title, "bold")
    picture.box(x, 46, sum(widths) + 12, 190, kind=kind)
    for number, row in enumerate([names, *rows]):
        place = x + 12
        for name, width in zip(row, widths, strict=True):
            picture.text(place, 72 + 38 * number, name, "dim" if number == 0 else "code")
            place += width


def holders() -> Picture:
    """Who holds which file."""
    title = "Who holds which file"
    description = (
        "The data owner holds input and trace, operations hold the state and, apart from it, its key; the auditor reads input, "
        "output and trace; recipients get the output and the audit report, and nothing else."
    )
    picture = Picture(960, 360, title, description)
    for x, width, name in ((20, 560, "the data owner's side: personal data"), (620, 320, "outside")):
        picture.box(x, 20, width, 320, kind="soft")
        picture.text(x + 16, 44, name, "bold")
    picture.box(40, 70, 150, 60, ("input", "raw records"), "bad")
    picture.box(240, 70, 150, 60, ("shoal", "run by operations"))
    picture.box(420, 160, 140, 60, ("trace", "row to row, private"), "bad")
    picture.box(240, 250, 150, 60, ("state", "waiting, encrypted"), "bad")
    picture.box(420, 250, 140, 60, ("key", "apart from the state"), "mark")
    picture.box(40, 160, 150, 60, ("audit", "shares no code"))
    picture.box(660, 70, 240, 60, ("output", "recipients"), "good")
    picture.box(660, 160, 240, 60, ("audit report", "regulator, recipients"), "good")
    picture.box(660, 250, 240, 60, ("policy", "no data in it"), "good")
    picture.arrow("M 190 100 H 238")
    picture.arrow("M 390 100 H 658")
    picture.arrow("M 390 116 H 490 V 158")
    picture.arrow("M 315 130 V 248")
    picture.arrow("M 420 280 H 392")
    picture.arrow("M 115 130 V 158")
    picture.arrow("M 420 190 H 192")
    picture.arrow("M 780 130 V 144 H 60 V 158")
    picture.arrow("M 115 220 V 328 H 608 V 190 H 658")
    return picture


def layers() -> Picture:
    """The layers, from commands down to policies."""
    title = "The layers"
    description = "Each layer imports only layers below it; the audit imports the policy alone."
    rows = [
        ("cli, web", "commands, the live page, the lab"),
        ("spark", "the same anonymizer as an operator of Apache Spark"),
        ("pipeline, connectors", "journal, checkpoints, dead letters; files, Kafka, NATS, MQTT, HTTP"),
        ("frames, files", "pandas, polars, Arrow; from file to file"),
        ("anonymizer", "push, push_batch, tick, flush, snapshot, restore"),
        ("algorithms", "tide, fads, kvarp, idea, xband, castle, fast, iot, zanon"),
        ("blocks", "window, groups, nearest neighbours, reuse set, the door: compiled"),
        ("columns", "records to numbers and back, over Arrow"),
        ("policy", "what to protect, and how"),
    ]
    picture = Picture(960, 44 * len(rows) + 50, title, description)
    for number, (name, what) in enumerate(rows):
        y = 20 + 44 * number
        last = number == len(rows) - 1
        picture.box(20, y, 920 if last else 700, 34, kind="mark" if last else "box")
        picture.text(36, y + 22, name, "bold")
        picture.text(220, y + 22, what, "dim")
        if not last:
            picture.arrow(f"M 60 {y + 34} V {y + 43}")
    picture.box(
        750,
        20,
        190,
        44 * (len(rows) - 1) - 10,
        ("audit", "the independent judge", "reads input, output", "and trace by itself"),
        "good",
    )
    picture.arrow(f"M 845 {20 + 44 * (len(rows) - 1) - 10} V {20 + 44 * (len(rows) - 1) - 1}")
    picture.text(
        20, 44 * len(rows) + 38, "An arrow points to what a layer may import. A test (import-linter) keeps it so.", "dim"
    )
    return picture


def tuple_() -> Picture:
    """The way of a record."""
    title = "The way of a record"
    description = (
        "A record is read, encoded into numbers and a payload, waits in the window and the payload buffer, leaves through "
        "the door in a group, is published and written. The audit reads input, output and trace."
    )
    picture = Picture(960, 350, title, description)
    picture.box(330, 15, 400, 190, kind="soft")
    picture.text(345, 37, "compiled: one call per batch, without Python", "dim")
    steps = [
        (20, 120, ("read", "a record, as a", "row of a batch"), "formats/reading", "box"),
        (175, 130, ("encode", "values, pattern,", "person, time"), "columns/encode", "box"),
        (350, 110, ("window", "a slot, until", "the deadline"), "blocks/window", "box"),
        (480, 110, ("algorithm", "which tuples", "leave together"), "algorithms/…", "box"),
        (610, 105, ("the door", "counts, checks", "or suppresses"), "blocks/release", "mark"),
        (760, 180, ("publish, write", "columns, once per group;", "the payload joins again"), "columns/publish", "box"),
    ]
    for x, width, lines, place, kind in steps:
        picture.box(x, 65, width, 70, lines, kind)
        picture.text(x + width / 2 - (30 if place.startswith("columns") else 0), 158, place, "dim", "middle")
    picture.text(530, 190, "reuse set: generalizations for reuse (blocks/reuse)", "dim", "middle")
    picture.box(350, 225, 240, 50, ("payload buffer", "kept and sensitive fields"))
    picture.text(604, 243, "anonymizer/core", "dim")
    picture.box(20, 295, 920, 40, ("the audit: reads input, output and trace; shares no code with what is above",), "good")
    for start, end in ((140, 173), (305, 348), (460, 478), (590, 608), (715, 758)):
        picture.arrow(f"M {start} 100 H {end}")
    picture.arrow("M 285 135 V 250 H 348")
    picture.arrow("M 590 250 H 890 V 137")
    return picture


def trade() -> Picture:
    """The loss of each algorithm against its time per tuple, from docs/trade.csv."""
    with (DOCS / "trade.csv").open(encoding="utf-8") as file:
        rows = [(row["algorithm"], float(row["loss"]), float(row["ns"])) for row in csv.DictReader(file)]
    base = next(ns for name, _, ns in rows if name == "fads")
    title = "Loss against speed"
    description = (
        "Each algorithm by the mean loss of its output and its time per tuple. "
        + "; ".join(f"{name}: loss {loss:.2f}, {ns / base:.1f} times the time of fads" for name, loss, ns in rows)
        + "."
    )
    left, top, width, height = 80, 46, 840, 290
    picture = Picture(960, 410, title, description)
    most = max(ns for _, _, ns in rows) / base * 1.7
    highest = 0.1 * (int(10 * max(loss for _, loss, _ in rows)) + 1)

    def across(ratio: float) -> float:
        return left + width * log10(ratio / 0.7) / log10(most / 0.7)

    def down(loss: float) -> float:
        return top + height * (1 - loss / highest)

    for tenth in range(0, round(10 * highest) + 1, 2):
        picture.line(f"M {left} {down(tenth / 10):g} H {left + width}")
        picture.text(left - 12, down(tenth / 10) + 4, f"{tenth / 10:g}", "small", "end")
    for ratio in (tick for tick in (1, 2, 5, 10, 20, 50, 100) if tick < most):
        picture.line(f"M {across(ratio):g} {top} V {top + height}")
        picture.text(across(ratio), top + height + 18, f"{ratio}", "small", "middle")
    picture.text(20, 28, "mean loss (0: unchanged, 1: nothing left)", "dim")
    picture.text(left, top + height + 42, "time per tuple, fads = 1, logarithmic. Better is left and below.", "dim")
    points = [(across(ns / base), down(loss)) for _, loss, ns in rows]
    names = [f"{name}, the default" if name == "tide quick" else name for name, _, _ in rows]
    for (name, _, _), (x, y) in zip(rows, points, strict=True):
        picture.point(x, y, "mark" if name == "tide quick" else "good" if name.startswith("tide") else "box")
    for (x, y, anchor), label in zip(beside(points, names), names, strict=True):
        picture.text(x, y, label, "bold" if "default" in label else "", anchor)
    return picture


def beside(points: Sequence[tuple[float, float]], labels: Sequence[str]) -> list[tuple[float, float, str]]:
    """Where the label of each point stands: to the right, or where it hits no other point and no label before it.

    >>> beside([(100, 50), (120, 50)], ["here", "there"])
    [(88, 54.5, 'end'), (132, 54.5, 'start')]
    """
    taken = [(x - 8, y - 8, x + 8, y + 8) for x, y in points]
    found = []
    for (x, y), label in zip(points, labels, strict=True):
        wide = 7.5 * len(label)
        places = [
            (x + 12, y + 4.5, "start", 0.0),
            (x - 12, y + 4.5, "end", 1.0),
            (x, y - 16, "middle", 0.5),
            (x, y + 24, "middle", 0.5),
        ]
        boxes = [(left - wide * part, down - 11, left + wide * (1 - part), down + 3) for left, down, _, part in places]
        free = [i for i, box in enumerate(boxes) if not any(_overlap(box, other) for other in taken)]
        chosen = free[0] if free else 0
        taken.append(boxes[chosen])
        found.append(places[chosen][:3])
    return found


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


PICTURES: dict[str, Callable[[], Picture]] = {
    "shoal": shoal, "shoal-still": partial(shoal, moving=False), "group": group, "holders": holders, "layers": layers,
    "tuple": tuple_, "trade": trade,
}  # fmt: skip

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (DOCS / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
