"""The animation of the documents' home: records of the demo arrive, wait, and leave in a group of equal rows.

python -m tools.animation    # record the groups anew, from the generated stream; then python -m tools.pictures draws them

The picture moves once, for ten seconds, and rests where it explains itself. With reduced motion it rests from the beginning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

RECORDED = Path(__file__).with_name("animation.json")
WIDTH, HEIGHT = 960, 300
FIRST, SECOND = 236, 620  # where records wait, and where they leave
LANES, TOP = 9, 46
JOIN, TOGETHER = 6.2, 1.3  # seconds: when the group comes together, and for how long
PACE = 0.55  # of the picture, against the stream
COLUMNS = 7

_STILL = """.fish { fill: var(--edge) } .member .fish { fill: var(--deep) } .name { fill: var(--deep); font-weight: 600 }
.cloud { fill: var(--deep); opacity: .16 } .passing { opacity: 0 }
.side { stroke: var(--line); stroke-dasharray: 3 6; opacity: .5 }"""
_MOVING = """@media (prefers-reduced-motion: no-preference) {
  .swim, .drift, .join, .late, .passing { animation: 1.1s ease-out var(--at) both }
  .swim { animation-name: swim } .drift { animation-name: move; animation-duration: var(--for) }
  .join { animation-name: move; animation-duration: 1.3s; animation-timing-function: ease-in-out }
  .member .fish { animation: hide 1.3s 6.2s ease-in both }
  .late { animation-name: appear } .passing { animation-name: pass; animation-duration: 2s }
}
@keyframes swim { from { opacity: 0; transform: translate(var(--x), 0) } }
@keyframes move { from { transform: translate(var(--x), var(--y)) } }
@keyframes hide { from { fill: var(--edge) } }
@keyframes appear { from { opacity: 0 } }
@keyframes pass { 20%, 70% { opacity: 1 } }"""
_FISH = '<path class="fish" d="M8 0A8 4.4 0 0 1 -6.5 2.4L-13.5 5V-5L-6.5 -2.4A8 4.4 0 0 1 8 0z"/>'


def record() -> dict[str, Any]:
    """Two groups of the demo, of the default algorithm."""
    from shoal import Anonymizer
    from shoal.demo import Shoal, live, policy_of

    now = [0.0]

    def pass_by(seconds: float) -> None:
        now[0] += seconds

    shoal, anonymizer = Shoal(clock=lambda: now[0]), Anonymizer(policy_of())
    for batch, at in live(8000, clock=lambda: now[0], sleep=pass_by):
        shoal.came(batch)
        shoal.left(anonymizer.push_batch(batch), anonymizer.trace)
        shoal.left(anonymizer.tick(at), anonymizer.trace)
    groups = shoal.since(0)["groups"]
    return {"leaves": groups[0], "waits": groups[1]}


def parts(moving: bool) -> Iterator[str]:
    """The elements of the picture: base positions are those of its end, and animations lead there."""
    told = json.loads(RECORDED.read_text(encoding="utf-8"))
    yield f"<style>\n{_STILL}{chr(10) + _MOVING if moving else ''}\n</style>"
    for x in (FIRST, SECOND):
        yield f'<path class="side" d="M{x} 14V{HEIGHT - 14}"/>'
    for x, text in (
        (16, "arrive: age, activity, district"),
        (FIRST + 16, "wait, at most 10 s"),
        (SECOND + 16, "leave, 20 or more alike"),
    ):
        yield f'<text class="bold" x="{x}" y="26">{text}</text>'
    leaves, waits = told["leaves"], told["waits"]
    members = sorted(leaves["members"], key=lambda member: -member["waited"])
    yield from _cloud(len(members))
    for n, member in enumerate(members):
        yield _member(n, len(members), member)
    for n, member in enumerate(waits["members"][:11]):
        yield _waiting(n, member)
    yield from _name(leaves["shown"], len(members))


def _place(n: int, count: int) -> tuple[float, float]:
    """Of a member in its group."""
    row, rows = divmod(n, COLUMNS)[0], -(-count // COLUMNS)
    x = (SECOND + WIDTH) / 2 + (n % COLUMNS - (COLUMNS - 1) / 2 + (0.25 if row % 2 else -0.25)) * 29
    return x, 118 + (row - (rows - 1) / 2) * 22


def _lane(n: int) -> float:
    return TOP + (HEIGHT - TOP - 12) * ((7 * n) % LANES + 0.5) / LANES


def _cloud(count: int) -> Iterator[str]:
    ellipses = "".join(
        f"M{x - 28:.0f} {y:.0f}a28 21 0 1 0 56 0a28 21 0 1 0 -56 0" for x, y in (_place(n, count) for n in range(count))
    )
    yield f'<path class="cloud late" style="--at: {JOIN + 0.6}s" d="{ellipses}"/>'


def _member(n: int, count: int, member: dict[str, Any]) -> str:
    x, y = _place(n, count)
    at = JOIN - PACE * member["waited"] - 0.6
    lane, arrives, waits = _lane(n), 64 + 8 * (n % 5), FIRST + 60 + (n * 61) % (SECOND - FIRST - 110)
    label = f'<text class="passing" x="15" y="4" style="--at: {at:.2f}s">{_values(member)}</text>' if n % 2 == 0 else ""
    begins = min(at + 1.7, JOIN - 0.3)
    return (
        f'<g class="member" transform="translate({x:.0f} {y:.0f})">'
        f'<g class="join" style="--at: {JOIN}s; --x: {waits - x:.0f}px; --y: {lane - y:.0f}px">'
        f'<g class="drift" style="--at: {begins:.2f}s; --for: {JOIN + 0.3 - begins:.2f}s; --x: {arrives - waits}px; --y: 0px">'
        f'<g class="swim" style="--at: {at:.2f}s; --x: {-arrives - 20}px">{_FISH}{label}</g></g></g></g>'
    )


def _waiting(n: int, member: dict[str, Any]) -> str:
    """Some that still wait in the end, and some that have just come."""
    is_new = n % 2 == 0
    at = (7.4 if is_new else 3.2) + 0.24 * n
    lane, arrives = TOP + (HEIGHT - TOP - 12) * ((4 * n) % 11 + 0.5) / 11, 30 + 6 * (n % 4)
    if is_new:
        label = f'<text class="late" x="15" y="4" style="--at: {at + 0.3:.2f}s">{_values(member)}</text>'
        inner = f'<g class="swim" style="--at: {at:.2f}s; --x: {-arrives - 20}px">{_FISH}{label}</g>'
        return f'<g transform="translate({arrives} {lane:.0f})">{inner}</g>'
    x = FIRST + 50 + (n * 97) % (SECOND - FIRST - 110)
    label = f'<text class="passing" x="15" y="4" style="--at: {at:.2f}s">{_values(member)}</text>'
    inner = f'<g class="swim" style="--at: {at:.2f}s; --x: {-arrives - 20}px">{_FISH}{label}</g>'
    drift = f'<g class="drift" style="--at: {at + 1.7:.2f}s; --for: 4s; --x: {arrives - x}px; --y: 0px">{inner}</g>'
    return f'<g transform="translate({x} {lane:.0f})">{drift}</g>'


def _name(shown: list[str], count: int) -> Iterator[str]:
    middle, at = (SECOND + WIDTH) / 2, f"--at: {JOIN + TOGETHER}s"
    lines = (("name", " · ".join(shown[:2])), ("name", shown[2]), ("small", f"{count} rows, all alike"))
    for n, (kind, text) in enumerate(lines):
        place = f'text-anchor="middle" x="{middle:g}" y="{226 + 20 * n}"'
        yield f'<text class="{kind} late" style="{at}" {place}>{escape(text)}</text>'


def _values(member: dict[str, Any]) -> str:
    return escape(" · ".join(value or "–" for value in member["values"]))


if __name__ == "__main__":
    RECORDED.write_text(json.dumps(record(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
