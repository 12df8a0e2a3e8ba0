"""The pictures are what the code draws, for light and dark pages, and every text of a box fits into it."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from tools.pictures import PICTURES, Picture

from tests.docs.base import DOCUMENTS, read

WIDE = 0.56  # of a letter, on average, as a share of its height
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture(name: str) -> None:
    picture = PICTURES[name]()
    assert read(f"docs/{name}.svg") == picture.svg()
    assert "prefers-color-scheme: dark" in picture.svg()
    assert too_wide(picture) == []
    assert any(f"{name}.svg" in path.read_text(encoding="utf-8") for path in DOCUMENTS)


def too_wide(picture: Picture) -> list[str]:
    """Centred texts that do not fit into the smallest box around their middle; others that leave the sheet."""
    drawn = ElementTree.fromstring(picture.svg())
    boxes = [[float(box.get(key, 0)) for key in ("x", "y", "width", "height")] for box in drawn.iter(f"{SVG}rect")]
    found = []
    for text in drawn.iter(f"{SVG}text"):
        x, y, label = float(text.attrib["x"]), float(text.attrib["y"]), text.text or ""
        around = [box for box in boxes if box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]]
        left, _, width, _ = min(around, key=lambda box: box[2])
        size = 12 if text.get("class") == "small" else 13
        room = width if text.get("text-anchor") == "middle" else left + width - x
        if len(label) * size * WIDE > room:
            found.append(label)
    return found


def test_a_text_that_does_not_fit_is_noticed() -> None:
    picture = Picture(400, 100, "a", "b")
    picture.box(10, 10, 60, 40, ("much too long for it",))
    assert too_wide(picture) == ["much too long for it"]
