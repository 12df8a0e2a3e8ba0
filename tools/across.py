"""Draws docs/across.svg: one person's three releases, and what an observer knows after each, without and with blocks.

python -m tools.across
"""

from __future__ import annotations

from tools.pictures import DOCS, Picture

PAGE = DOCS / "across.svg"
OWN = "asthma"
GROUPS = (("flu", OWN, "none"), (OWN, "flu", "gout"), ("cold", OWN, "migraine"))
"""What the three groups show in which the person was, k = 3."""

BLOCKS = (("flu", "cold", OWN), ("none", "migraine", "gout"))
_LEFT, _WIDE, _GAP, _LINE = 150, 240, 25, 20
_WAYS = {"values": "as they are", "blocks": "as blocks of three"}


def known(groups: tuple[tuple[str, ...], ...], blocks: tuple[tuple[str, ...], ...] = ()) -> list[list[str]]:
    """The values that are possible after each release: those that all groups so far show, by themselves or in a block.

    >>> known(GROUPS)
    [['flu', 'asthma', 'none'], ['flu', 'asthma'], ['asthma']]
    >>> known(GROUPS, BLOCKS)[-1]
    ['flu', 'cold', 'asthma']
    """
    own = next((block for block in blocks if OWN in block), None)
    found, left = [], [value for group in groups for value in group] if own is None else list(own)
    left = list(dict.fromkeys(left))
    for group in groups:
        left = [value for value in left if value in group] if own is None else left
        found.append(left)
    return found


def across() -> Picture:
    """The three releases, without and with blocks."""
    title = "Three releases of one person"
    description = (
        "With values as they are, the three groups of a person share one value only, which is then certain. With blocks each "
        "group shows the same block of the person, and three values stay possible."
    )
    drawn = Picture(960, 400, title, description)
    for place in range(len(GROUPS)):
        drawn.text(_LEFT + place * (_WIDE + _GAP) + _WIDE / 2, 28, f"release {place + 1}", "bold", "middle")
    for way, top in zip(_WAYS, (45, 225), strict=True):
        _row(drawn, way, top)
    return drawn


def _row(drawn: Picture, way: str, top: int) -> None:
    blocks = BLOCKS if way == "blocks" else ()
    for down, text, kind in (
        (35, "values", "bold"), (53, _WAYS[way], "dim"), (128, "what an observer", "dim"), (146, "knows by then", "dim")
    ):  # fmt: skip
        drawn.text(20, top + down, text, kind)
    for place, (group, possible) in enumerate(zip(GROUPS, known(GROUPS, blocks), strict=True)):
        x = _LEFT + place * (_WIDE + _GAP)
        drawn.box(x, top, _WIDE, 78)
        for line, value in enumerate(group):
            shown = next((", ".join(block) for block in blocks if value in block), value)
            drawn.text(x + 14, top + 24 + _LINE * line, shown, "bold" if value == OWN else "")
        certain = len(possible) == 1
        words = f"{possible[0]}, for certain" if certain else f"one of {', '.join(possible)}"
        drawn.box(x, top + 108, _WIDE, 46, kind="bad" if certain else "good")
        drawn.text(x + _WIDE / 2, top + 136, words, "", "middle")
        drawn.arrow(f"M {x + _WIDE / 2:g} {top + 80} v 25")


def main() -> None:
    PAGE.write_text(across().svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
