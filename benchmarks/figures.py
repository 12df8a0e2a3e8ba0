"""Writes the figures of `shoal bench --json` into a page, between `<!-- figures -->` and `<!-- /figures -->`.

python benchmarks/figures.py bench.json docs/figures.md [PICTURE]
python benchmarks/figures.py diversity.json docs/figures.md --between diversity
python benchmarks/figures.py bench.json README.md --between default

PICTURE, which lies beside the page, is shown first. trade.csv beside the page gets the losses and times that `tools.pictures`
draws. `--between NAME` writes between `<!-- NAME -->` and `<!-- /NAME -->`, the tables alone, for
parts that measure no time: their figures do not depend on the machine. `--between default` writes a short table of
the default's figures.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from shoal.bench import Report

FIGURES, DEFAULT, BETWEEN = "figures", "default", "--between"


def page(text: str, report: Report, picture: str | None = None, name: str = FIGURES) -> str:
    """The text with the figures between its markers."""
    first, last = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, start, rest = text.partition(first)
    _, end, after = rest.partition(last)
    if not start or not end:
        raise SystemExit(f"the page lacks {first} and {last}; put both where the figures belong")
    if name == DEFAULT:
        return "".join([before, first, "\n", summary(report), "\n", last, after])
    p = report.parameters
    rounds = f" --rounds {p['rounds']}" if name == FIGURES else ""
    command = f"Measured by `shoal bench {' '.join(p['parts'])}{rounds}`."
    shown = [f"![Speed, loss against cost, and growth]({picture})"] if picture else []
    headline = [report.headline.replace("\n", " ")] if name == FIGURES else []
    figures = [*headline, command, *shown, *(table.markdown() for table in report.tables())]
    return "".join([before, first, "\n", "\n\n".join(figures), "\n", last, after])


def summary(report: Report) -> str:
    """The figures of the default in a few lines."""
    p, found = report.parameters, report.parts["default"]
    fads, quick, _, from_file_to_file = found["rows"]
    calls = sorted(found["calls"]["idle"])
    lines = [
        f"`tide` with `nulls_match: blurred`, on UCI Adult: {p['quasi']} quasi-identifiers, up to {p['missing']} missing,",
        f"k {p['k']}, a window of {p['window']:,} tuples; one core ({report.machine['cpu']}); `shoal bench default`.",
        "",
        "| | |",
        "|---|--:|",
        f"| tuples per second, in memory | {_rounded(quick)} |",
        f"| tuples per second, from Parquet to Parquet | {_rounded(from_file_to_file)} |",
        f"| one record per call, median | {1000 * calls[len(calls) // 2]:.2f} ms |",
        f"| loss (0: unchanged, 1: nothing left) | {quick['loss']:.3f} |",
        "| `fads`, the quickest of the published algorithms, in the papers' weaker reading of nulls: loss "
        f"| {fads['loss']:.3f} |",
        f"| the same: tuples per second, in memory | {_rounded(fads)} |",
    ]
    return "\n".join(lines)


def _rounded(row: dict[str, Any]) -> str:
    """Tuples per second, in three digits."""
    rate = float(f"{row['timing']['rate']:.3g}")
    return f"{rate:,.0f}"


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
