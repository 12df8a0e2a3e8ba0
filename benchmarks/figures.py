"""Writes the figures of `shoal bench --json` into a page, between `<!-- figures -->` and `<!-- /figures -->`.

python benchmarks/figures.py bench.json docs/figures.md [PICTURE]

PICTURE, which lies beside the page, is shown first.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.bench import Report

START, END = "<!-- figures -->", "<!-- /figures -->"


def page(text: str, report: Report, picture: str | None = None) -> str:
    """The text with the figures between its markers."""
    before, start, rest = text.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"the page lacks {START} and {END}; put both where the figures belong")
    p = report.parameters
    command = f"Measured by `shoal bench {' '.join(p['parts'])} --rounds {p['rounds']}`."
    shown = [f"![Speed, loss against cost, and growth]({picture})"] if picture else []
    figures = [report.headline.replace("\n", " "), command, *shown, *(table.markdown() for table in report.tables())]
    return "".join([before, START, "\n", "\n\n".join(figures), "\n", END, after])


def main() -> None:
    if len(sys.argv) not in (3, 4):
        raise SystemExit("usage: python benchmarks/figures.py bench.json docs/figures.md [PICTURE]")
    source, target = map(Path, sys.argv[1:3])
    report = Report.from_json(source.read_text(encoding="utf-8"))
    target.write_text(page(target.read_text(encoding="utf-8"), report, *sys.argv[3:]), encoding="utf-8")


if __name__ == "__main__":
    main()
