"""Lists every line that shoal writes to its log, in docs/promise.md, from the source.

python -m tools.log_lines
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src/shoal"
PAGE = ROOT / "docs/promise.md"

_LEVELS = ("debug", "info", "warning", "error", "exception", "critical")
_PLACE = re.compile(r"%(?:\.\d+)?[sdrf]")
_PART = re.compile(r"(<!-- log lines -->\n).*?(<!-- end of log lines -->)", re.DOTALL)
_COLLECTED = "store.warnings.pop(0)"  # lines that the store collects with `warnings.append`


class Line(NamedTuple):
    """A line of the log: its level, its text with `…` for what is filled in, and the file that writes it."""

    level: str
    text: str
    file: str


def lines(source: Path = SOURCE) -> list[Line]:
    """All lines, in the order of the files."""
    return [line for path in sorted(source.rglob("*.py")) for line in _lines_of(path, path.relative_to(source).as_posix())]


def _lines_of(path: Path, name: str) -> Iterator[Line]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        target, text = ast.unparse(node.func.value), node.args[0]
        if node.func.attr in _LEVELS and (target in ("log", "_log") or target.startswith("logging.getLogger(")):
            if ast.unparse(text) != _COLLECTED:
                yield Line(node.func.attr, _text(text, name), name)
        elif node.func.attr == "append" and target.endswith("self.warnings"):
            yield Line("warning", _text(text, name), name)


def _text(node: ast.expr, name: str) -> str:
    """The text with `…` in the place of what is filled in.

    >>> _text(ast.parse("'%d tuples have left'").body[0].value, "a.py")
    '… tuples have left'
    """
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return _PLACE.sub("…", node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    raise SystemExit(f"{name}, line {node.lineno}: the text of a log line must be written where it is logged")


def table(found: list[Line]) -> str:
    """The lines as a table of Markdown."""
    rows = [f"| {line.level} | `{line.text}` | `{line.file}` |" for line in found]
    return "\n".join(["| level | line | written by |", "|---|---|---|", *rows])


def page(text: str) -> str:
    """The page with the table of all lines."""
    if not _PART.search(text):
        raise SystemExit("the page lacks <!-- log lines --> and <!-- end of log lines -->")
    return _PART.sub(lambda part: f"{part[1]}\n{table(lines())}\n\n{part[2]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
