"""Writes the figures of `shoal bench --json` into a page, between `<!-- figures -->` and `<!-- /figures -->`.

python benchmarks/figures.py bench.json docs/figures.md [PICTURE]
python benchmarks/figures.py diversity.json docs/figures.md --between diversity

PICTURE, which lies beside the page, is shown first. trade.csv beside the page gets the losses and times that `tools.pictures`
draws. `--between NAME` writes between `<!-- NAME -->` and `<!-- /NAME -->`, the tables alone, for
parts that measure no time: their figures do not depend on the machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

from shoal.bench import Report

FIGURES, BETWEEN = "figures", "--between"


def page(text: str, report: Report, picture: str | None = None, name: str = FIGURES) -> str:
    """The text with the figures between its markers."""
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, start, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not start or not end:
        raise SystemExit(f"the page lacks {first} and {last}; put both where the figures belong")
    p = report.parameters
    rounds = f" --rounds {p['rounds']}" if name == FIGURES else ""
    command = f"Measured by `shoal bench {' '.join(p['parts'])}{rounds}`."
    shown = [f"![Speed, loss against cost, and growth]({picture})"] if picture else []
    headline = [report.headline.replace("\n", " ")] if name == FIGURES else []
    figures = [*headline, command, *shown, *(table.markdown() for table in report.tables())]
    return "".join([before, first, "\n", "\n\n".join(figures), "\n", last, after])


def trade(report: Report) -> str:
    """The loss of each algorithm under blurred nulls, and its ns per tuple in the fastest round; empty without `speed`."""
    rows = report.parts.get("speed", {}).get("rows", ())
    lines = [
        f"{row['algorithm']},{row['blurred_loss']:.4f},{min(row['blurred']['seconds']) * 1e9 / row['blurred']['tuples']:.0f}"
        for row in rows
    ]
    return "\n".join(["algorithm,loss,ns", *lines, ""]) if lines else ""


def main() -> None:
    paths, name, picture = sys.argv[1:3], FIGURES, None
    match sys.argv[3:]:
        case []:
            pass
        case [option, between] if option == BETWEEN:
            name = between
        case [shown] if not shown.startswith("-"):
            picture = shown
        case _:
            paths = []
    if len(paths) != 2:
        raise SystemExit("usage: python benchmarks/figures.py bench.json docs/figures.md [PICTURE | --between NAME]")
    source, target = map(Path, paths)
    report = Report.from_json(source.read_text(encoding="utf-8"))
    target.write_text(page(target.read_text(encoding="utf-8"), report, picture, name), encoding="utf-8")
    if found := trade(report):
        target.with_name("trade.csv").write_text(found, encoding="utf-8")


if __name__ == "__main__":
    main()
