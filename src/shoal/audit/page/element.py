"""HTML with every text escaped, numbers for people, and charts: shapes in SVG that stretch to any width, beside their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from shoal.audit.risk import Histogram

_SPACE = "\u00a0"  # a number stays with its unit


def count(number: float) -> str:
    """A whole number, with commas between thousands.

    >>> count(1234567)
    '1,234,567'
    """
    return f"{number:,.0f}"


def percent(share: float) -> str:
    """A share in percent; one that is almost nothing, or almost all, is not rounded to it.

    >>> [percent(share).replace(_SPACE, " ") for share in (0, 0.0004, 0.0042, 0.071, 0.456, 0.9996, 1)]
    ['0 %', 'under 0.1 %', '0.4 %', '7.1 %', '46 %', 'over 99.9 %', '100 %']
    """
    if share in (0, 1):
        return f"{100 * share:.0f}{_SPACE}%"
    if share < 0.001:
        return f"under 0.1{_SPACE}%"
    if 0.999 < share < 1:
        return f"over 99.9{_SPACE}%"
    return f"{100 * share:.{0 if share >= 0.1 else 1}f}{_SPACE}%"


def chance(share: float) -> str:
    """A share as one in so many.

    >>> [chance(share) for share in (0, 0.00001, 0.0192, 0.34, 0.65, 1)]
    ['never', '1 in 100,000', '1 in 52', '1 in 2.9', '1 in 1.5', '1 in 1']
    """
    if share <= 0:
        return "never"
    return f"1 in {1 / share:,.1f}".removesuffix(".0") if share > 0.1 else f"1 in {1 / share:,.0f}"


def sentence(text: str) -> str:
    """A text with a capital and a full stop; the symbols k and z stay small.

    >>> sentence("no row left"), sentence("k persons."), sentence("")
    ('No row left.', 'k persons.', '')
    """
    if not text:
        return ""
    start = text[0] if text.startswith(("k ", "z ")) else text[0].upper()
    return f"{start}{text[1:].removesuffix('.')}."


def decimal(number: float) -> str:
    """At most three digits after the point, and none from 100 on.

    >>> [decimal(number) for number in (0.56545, 12.0, 1234.5)]
    ['0.565', '12', '1,234']
    """
    return f"{number:,.0f}" if number >= 100 else f"{number:.3f}".rstrip("0").rstrip(".")


def span(number: float, unit: str) -> str:
    """A time on the window's own clock.

    >>> span(2000, "arrivals"), span(0.25, "seconds"), span(1, "arrivals")
    ('2,000 arrivals', '0.25 seconds', '1 arrival')
    """
    return f"{decimal(number)} {unit[:-1] if number == 1 else unit}"


def plural(number: int, noun: str) -> str:
    """So many of something.

    >>> plural(1, "row"), plural(3000, "row")
    ('1 row', '3,000 rows')
    """
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


Part = object
_WIDTH, _HEIGHT = 600, 160


class Markup(str):
    """Text that is HTML already."""


def tag(name: str, *parts: Part, **attributes: object) -> Markup:
    """An element; a trailing underscore of an attribute is dropped, others become hyphens, None and False leave it out.

    >>> tag("p", "a < b ", tag("b", "bold"), class_="note", hidden=None)
    '<p class="note">a &lt; b <b>bold</b></p>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{written}>{join(*parts)}</{name}>")


def join(*parts: Part) -> Markup:
    """Parts one after the other; what is no markup is escaped."""
    return Markup("".join(part if isinstance(part, Markup) else escape(str(part), quote=False) for part in parts))


def table(caption: Part, head: Iterable[Part], rows: Iterable[Iterable[Part]], numbers: int = 1) -> Markup:
    """A table whose first column names its rows, and whose columns from `numbers` on are numbers."""

    def look(place: int) -> str | None:
        return "number" if place >= numbers else None

    def cell(place: int, part: Part) -> Markup:
        return tag("td", part, class_=look(place)) if place else tag("th", part, scope="row")

    top = tag("tr", *(_head(name, look(place)) for place, name in enumerate(head)))
    body = [tag("tr", *(cell(place, part) for place, part in enumerate(row))) for row in rows]
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *body))
    return tag("div", whole, class_="wide", tabindex="0")


def tiled(tiles: Iterable[tuple[str, str, str]]) -> Markup:
    """Facts side by side: of each its name, its value, and a note."""
    return tag("dl", *(tag("div", tag("dt", a), tag("dd", b, tag("small", c))) for a, b, c in tiles), class_="facts")


def section(place: str, title: str, *parts: Part) -> Markup:
    """A section with a heading that can be linked to."""
    return tag("section", tag("h2", title, id=f"{place}-title"), *parts, id=place, aria_labelledby=f"{place}-title")


def bars(caption: Part, rows: Iterable[tuple[Part, float, Part, str]], head: Sequence[Part]) -> Markup:
    """A table with a bar in each row: a name, a share of the full length, what it says in words, and a class."""
    body = [
        tag("tr", tag("th", name, scope="row"), tag("td", _bar(share, kind), class_="bar"), tag("td", words, class_="number"))
        for name, share, words, kind in rows
    ]
    names = [_head(head[0], None), tag("td", ""), _head(head[1], "number")]
    return tag("table", tag("caption", caption), tag("thead", tag("tr", *names)), tag("tbody", *body), class_="bars")


def sizes(caption: Part, found: Histogram, noun: str, head: Sequence[Part], fewest: int = 0) -> Markup:
    """A table with a bar for each size, counted in a noun; bars of sizes below the fewest that should be stand out."""
    most = max(found.counts, default=0) or 1
    rows: list[tuple[Part, float, Part, str]] = []
    for low, high, number in zip(found.edges, found.edges[1:], found.counts, strict=False):
        name = plural(int(low), noun) if high - low == 1 else f"{count(low)} to {count(high - 1)} {noun}s"
        rows.append((name, number / most, count(number), "alert" if high <= fewest else "mean"))
    return bars(caption, rows, head)


def _head(name: Part, look: str | None) -> Markup:
    """The head of a column; one without a name is no header."""
    return tag("th", name, scope="col", class_=look) if name else tag("td", "")


def _bar(share: float, kind: str) -> Markup:
    width = 100 * min(max(share, 0.0), 1.0)
    shape = Markup(f'<rect class="back" width="100" height="10"/><rect class="{kind}" width="{width:.2f}" height="10"/>')
    return tag("svg", shape, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true")


def histogram(
    caption: str, counts: Sequence[int], axis: Sequence[str], top: str, mark: tuple[float, str] | None = None
) -> Markup:
    """Columns side by side; `mark` is a place from 0 to 1 with its words, `caption` says in words what is seen."""
    most = max(counts, default=0) or 1
    width = _WIDTH / max(1, len(counts))
    shapes = [
        f'<rect class="mean" x="{place * width + 0.5:.2f}" y="{_HEIGHT * (1 - number / most):.2f}" '
        f'width="{width - 1:.2f}" height="{_HEIGHT * number / most:.2f}"/>'
        for place, number in enumerate(counts)
    ]
    if mark:
        shapes.append(_upright(mark[0]))
    return _figure(caption, shapes, axis, top, mark and mark[1])


def line(caption: str, values: Sequence[float], axis: Sequence[str], top: str, level: float | None = None) -> Markup:
    """A curve of values from 0 to 1; `level` is drawn across."""
    last = max(1, len(values) - 1)
    points = [(_WIDTH * place / last, _HEIGHT * (1 - min(max(value, 0.0), 1.0))) for place, value in enumerate(values)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    shapes = [f'<polygon class="area" points="0,{_HEIGHT} {path} {_WIDTH},{_HEIGHT}"/>'] if points else []
    if level is not None:
        y = _HEIGHT * (1 - level)
        shapes.append(f'<line class="mark" x1="0" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" vector-effect="non-scaling-stroke"/>')
    shapes.append(f'<polyline class="curve" points="{path}" vector-effect="non-scaling-stroke"/>')
    return _figure(caption, shapes, axis, top, None)


def _upright(place: float) -> str:
    x = _WIDTH * min(max(place, 0.0), 1.0)
    return f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{_HEIGHT}" vector-effect="non-scaling-stroke"/>'


def _figure(caption: str, shapes: Sequence[str], axis: Sequence[str], top: str, mark: str | None) -> Markup:
    grid = "".join(
        f'<line class="grid" x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}" vector-effect="non-scaling-stroke"/>'
        for y in (0, _HEIGHT / 2, _HEIGHT)
    )
    picture = tag(
        "svg",
        Markup(grid + "".join(shapes)),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        preserveAspectRatio="none",
        role="img",
        aria_label=caption,
    )
    over = tag("div", tag("span", top), tag("span", mark or ""), class_="axis", aria_hidden="true")
    under = tag("div", *(tag("span", name) for name in axis), class_="axis", aria_hidden="true")
    return tag("figure", over, picture, under, tag("figcaption", caption))


def pair(*charts: Part) -> Markup:
    """Pictures side by side where there is room."""
    return tag("div", join(*charts), class_="pair")
