"""HTML, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

Part = object


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

    top = tag("tr", *(tag("th", name, scope="col", class_=look(place)) for place, name in enumerate(head)))
    body = [tag("tr", *(cell(place, part) for place, part in enumerate(row))) for row in rows]
    whole = tag("table", tag("caption", caption), tag("thead", top), tag("tbody", *body))
    return tag("div", whole, class_="wide", tabindex="0")


def section(place: str, title: str, *parts: Part) -> Markup:
    """A section with a heading that can be linked to."""
    return tag("section", tag("h2", title, id=f"{place}-title"), *parts, id=place, aria_labelledby=f"{place}-title")
