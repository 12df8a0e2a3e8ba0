"""Draws docs/across.svg: one person's three releases, and what an observer knows after each, without and with blocks.

python -m tools.across
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "across.svg"
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


def picture() -> str:
    """The picture as SVG."""
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 400" font-family="system-ui, sans-serif" font-size="13" '
        'role="img" aria-labelledby="t d">',
        '<title id="t">Three releases of one person</title>',
        '<desc id="d">With values as they are, the three groups of a person share one value only, which is then certain. With '
        "blocks each group shows the same block of the person, and three values stay possible.</desc>",
        '<rect width="960" height="400" fill="#fff"/>',
    ]
    for place in range(len(GROUPS)):
        middle = _LEFT + place * (_WIDE + _GAP) + _WIDE // 2
        lines.append(f'<text x="{middle}" y="28" text-anchor="middle" font-weight="600" fill="#123">release {place + 1}</text>')
    for way, top in zip(_WAYS, (45, 225), strict=True):
        lines += _row(way, top)
    return "\n".join([*lines, "</svg>", ""])


def _row(way: str, top: int) -> Iterator[str]:
    blocks = BLOCKS if way == "blocks" else ()
    yield f'<text x="20" y="{top + 35}" font-weight="600" fill="#123">values</text>'
    yield f'<text x="20" y="{top + 53}" fill="#456">{_WAYS[way]}</text>'
    yield f'<text x="20" y="{top + 128}" fill="#456">what an observer</text>'
    yield f'<text x="20" y="{top + 146}" fill="#456">knows by then</text>'
    for place, (group, possible) in enumerate(zip(GROUPS, known(GROUPS, blocks), strict=True)):
        x = _LEFT + place * (_WIDE + _GAP)
        yield f'<rect x="{x}" y="{top}" width="{_WIDE}" height="78" rx="6" fill="#f1f5fb" stroke="#c5d2e6"/>'
        for line, value in enumerate(group):
            shown = next((", ".join(block) for block in blocks if value in block), value)
            mark = ' font-weight="600"' if value == OWN else ""
            yield f'<text x="{x + 14}" y="{top + 24 + _LINE * line}" fill="#123"{mark}>{shown}</text>'
        certain = len(possible) == 1
        fill, stroke = ("#fbe3e1", "#b3261e") if certain else ("#eaf6ee", "#3c7d55")
        yield f'<rect x="{x}" y="{top + 108}" width="{_WIDE}" height="46" rx="6" fill="{fill}" stroke="{stroke}"/>'
        words = f"{possible[0]}, for certain" if certain else f"one of {', '.join(possible)}"
        yield f'<text x="{x + _WIDE // 2}" y="{top + 136}" text-anchor="middle" fill="#123">{words}</text>'
        yield f'<path d="M{x + _WIDE // 2} {top + 82}v20" stroke="#667"/>'


def main() -> None:
    PAGE.write_text(picture(), encoding="utf-8")


if __name__ == "__main__":
    main()
