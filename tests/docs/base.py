"""The documents, and how to take them apart."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(path for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md") for path in ROOT.glob(pattern))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block: its language, its text, and the line before it that is not empty."""

    language: str
    text: str
    before: str


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def blocks(text: str) -> list[Block]:
    """
    >>> blocks("**`a.csv`**\\n\\n```csv\\n1;2\\n```\\n")
    [Block(language='csv', text='1;2\\n', before='**`a.csv`**')]
    """
    return [
        Block(match[1], match[2], next(iter(text[: match.start()].rstrip().splitlines()[-1:]), ""))
        for match in _FENCE.finditer(text)
    ]


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return _FENCE.sub("", text)


def anchors(text: str) -> set[str]:
    """What links within a document can point at.

    >>> anchors("# The `buffer` window\\n## In time, always") == {"the-buffer-window", "in-time-always"}
    True
    """
    headings = re.findall(r"^#+ (.+)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
