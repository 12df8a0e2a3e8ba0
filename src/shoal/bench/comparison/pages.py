"""A comparison on disk: tables as CSV, LaTeX and Markdown, plots, one HTML page. Each carries where its figures come from."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from shoal import extras
from shoal.bench.comparison.comparison import Cell, Comparison
from shoal.bench.comparison.measures import MEASURES
from shoal.bench.table import NOTHING, Table
from shoal.errors import InputError

_TITLE = "Comparison of algorithms"
_SETTINGS = ("data", "order", "k", "wait", "nulls")
_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse;"
    "margin:.5rem 0 1.5rem}th,td{padding:.2rem .7rem;border-bottom:1px solid #ccc;text-align:right}th:first-child,"
    "td:first-child{text-align:left}caption{text-align:left;font-weight:600}.scroll{overflow-x:auto}dt{font-weight:600}"
    "td{white-space:nowrap;font-variant-numeric:tabular-nums}th:first-child,td:first-child{position:sticky;left:0;"
    "background:#fff}@media print{.scroll{overflow:visible}table{font-size:8px}th,td{padding:.1rem .25rem}}"
    "dd{margin:0 0 .3rem;overflow-wrap:anywhere}svg{max-width:100%;height:auto}"
)
_LATEX = str.maketrans({"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "±": r"$\pm$", "<": r"$<$"})


def write_comparison(comparison: Comparison, folder: str | PathLike[str]) -> list[Path]:
    """Write all files into a folder; the plots too, if matplotlib is installed."""
    home = Path(folder)
    pictures = _pictures(comparison) if extras.has("matplotlib") else {}
    files: dict[str, str | bytes] = {
        "runs.csv": runs_csv(comparison),
        "summary.csv": summary_csv(comparison),
        "tables.tex": latex(comparison),
        "tables.md": markdown(comparison, list(pictures)),
        "comparison.html": page(comparison, pictures),
        "provenance.json": json.dumps(asdict(comparison.provenance), indent=1) + "\n",
        **pictures,
    }
    try:
        home.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (home / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({(error.strerror or 'no access').lower()}); name another") from None
    return [home / name for name in files]


def tables(comparison: Comparison) -> list[Table]:
    """All measures over all settings; then, for each measure, the settings with a column per algorithm."""
    found = [_overall(comparison)]
    for measure in MEASURES:
        if any(run[measure] is not None for run in comparison.runs):
            found.append(_by_cell(comparison, measure))
    return found


def _overall(comparison: Comparison) -> Table:
    own = [name for name in MEASURES if any(run[name] is not None for run in comparison.runs)]
    sums = {name: comparison.summary(name) for name in own}
    rows = []
    for label in comparison.labels:
        cells = [MEASURES[name].shown(sums[name][label]["mean"], sums[name][label]["half"]) for name in own]
        rows.append((label, *cells, _p(sums["loss"][label]["p"]), kept(comparison, label)))
    count, seeds = len(comparison.cells), len(comparison.provenance.seeds)
    notes = [
        f"Means over {count} setting{'s' if count > 1 else ''} and {seeds} seeds, ± half the 95 % interval over seeds "
        f"(Student's t). p: paired permutation test of the loss against {comparison.reference}, one pair per seed, "
        "corrected by Holm. All have the same longest wait: the longest window under which an algorithm promises it.",
        *_not_run(comparison),
        *([] if extras.has("sklearn") else ["Accuracy was not measured: pip install 'shoal-stream[sklearn]'."]),
    ]
    header = ("algorithm", *(MEASURES[name].title for name in own), "p (loss)", "promises")
    return Table("All settings", header, rows, notes)


def short_table(comparison: Comparison) -> Table:
    """The most important measures, for a terminal."""
    own = ("query_error", "accuracy", "mean_wait", "linkage")
    sums = {name: comparison.summary(name) for name in ("loss", *own)}
    rows = []
    for label in comparison.labels:
        loss = sums["loss"][label]
        shown = (MEASURES[name].shown(sums[name][label]["mean"]) for name in own)
        rows.append((label, MEASURES["loss"].shown(loss["mean"], loss["half"]), _p(loss["p"]), *shown))
    header = ("algorithm", "loss", "p", *(MEASURES[name].title for name in own))
    broken = [f"Promises of {label}: {found}." for label in comparison.labels if "broken" in (found := kept(comparison, label))]
    return Table(f"Against {comparison.reference}", header, rows, [*_overall(comparison).notes, *broken])


def _not_run(comparison: Comparison) -> list[str]:
    found: dict[tuple[str, str], list[str]] = {}
    for label, cell, reason in comparison.obstacles:
        found.setdefault((label, reason), []).append(str(cell))
    return [f"{label} was not run ({reason}): {'; '.join(cells)}." for (label, reason), cells in found.items()]


def _by_cell(comparison: Comparison, measure: str) -> Table:
    own, rows = MEASURES[measure], []
    for cell in comparison.cells:
        found = comparison.summary(measure, [cell])
        rows.append((str(cell), *(own.shown(row["mean"], row["half"]) for row in found.values())))
    return Table(f"{own.title.capitalize()}: {own.meaning}", ("setting", *comparison.labels), rows)


def kept(comparison: Comparison, label: str) -> str:
    """Whether the audit found all promises kept, in all runs of an algorithm."""
    held = [run["held"] for run in comparison.runs if run["algorithm"] == label]
    return NOTHING if not held else "kept" if all(held) else f"broken in {held.count(False)} of {len(held)} runs"


def _p(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.3f}" if value >= 0.001 else "< 0.001"


def runs_csv(comparison: Comparison) -> str:
    """One line per run."""
    columns = comparison.provenance.columns()
    columns.pop("seeds")
    names = ("algorithm", *_SETTINGS, "seed", "tuples", "window", "promised_wait", *MEASURES, "held")
    return _csv((*names, *columns), ([*(run[name] for name in names), *columns.values()] for run in comparison.runs))


def summary_csv(comparison: Comparison) -> str:
    """One line per setting, measure and algorithm."""
    columns = comparison.provenance.columns()
    lines = []
    for cell in comparison.cells:
        for measure in MEASURES:
            for label, row in comparison.summary(measure, [cell]).items():
                if row["mean"] is not None:
                    lines.append([*cell, measure, label, row["mean"], row["half"], row["p"], *columns.values()])
    return _csv((*_SETTINGS, "measure", "algorithm", "mean", "half_interval", "p", *columns), lines)


def _csv(header: Sequence[str], lines: Any) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return text.getvalue()


def markdown(comparison: Comparison, pictures: Sequence[str] = ()) -> str:
    drawn = [f"![{name.removesuffix('.svg')}]({name})" for name in pictures if name.endswith(".svg")]
    blocks = [f"# {_TITLE}", *(table.markdown() for table in tables(comparison)), *drawn]
    return "\n\n".join([*blocks, "## Where the figures come from", comparison.provenance.markdown()]) + "\n"


def latex(comparison: Comparison) -> str:
    """Tables for the package booktabs."""
    blocks = [f"% {name}: {text}" for name, text in comparison.provenance.lines()]
    for table in tables(comparison):
        lines = [" & ".join(_tex(cell) for cell in row) + r" \\" for row in (table.header, *table.rows)]
        blocks += [
            "", r"\begin{table}", rf"\caption{{{_tex(table.title)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.header) - 1)}}}",
            r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}",
            *(_tex(note) for note in table.notes), r"\end{table}",
        ]  # fmt: skip
    return "\n".join(blocks) + "\n"


def _tex(text: str) -> str:
    r"""
    >>> _tex("5 % of a_b")
    '5 \\% of a\\_b'
    """
    return text.translate(_LATEX)


def page(comparison: Comparison, pictures: Mapping[str, bytes]) -> str:
    """One page that needs nothing else."""
    parts = [f"<h1>{_TITLE}</h1>"]
    for name, content in pictures.items():
        if name.endswith(".svg"):
            drawn = content.decode()
            label = f'<svg role="img" aria-label="{name.removesuffix(".svg").replace("-", " ")}, as in the tables below"'
            parts.append(drawn[drawn.index("<svg") :].replace("<svg", label, 1))
    for table in tables(comparison):
        head = "".join(f"<th scope=col>{escape(name)}" for name in table.header)
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}' for cell in row)}" for row in table.rows)
        title = escape(table.title)
        opening = f'<div class=scroll tabindex=0 role=region aria-label="{title}">'
        parts.append(f"{opening}<table><caption>{title}</caption><tr>{head}{body}</table></div>")
        parts += [f"<p>{escape(note)}</p>" for note in table.notes]
    entries = "".join(f"<dt>{escape(name)}<dd>{escape(text)}" for name, text in comparison.provenance.lines())
    parts.append(f"<h2>Where the figures come from</h2><dl>{entries}</dl>")
    body = "\n".join(parts)
    head = (
        f"<meta charset=utf-8><meta name=viewport content='width=device-width'><title>{_TITLE}</title><style>{_STYLE}</style>"
    )
    return f"<!doctype html><html lang=en>{head}\n<main>\n{body}\n</main>\n</html>\n"


def _pictures(comparison: Comparison) -> dict[str, bytes]:
    """Bars of every measure over all settings, and loss by k and by wait where there are several."""
    pyplot = extras.pyplot()
    own = [name for name in MEASURES if any(run[name] is not None for run in comparison.runs)]
    wide = -(-len(own) // 3)
    figure, axes = pyplot.subplots(
        wide, 3, figsize=(13, 1.2 + wide * (0.9 + 0.3 * len(comparison.labels))), layout="constrained"
    )
    for name, panel in zip(own, axes.flat, strict=False):
        found = comparison.summary(name)
        means = [row["mean"] or 0.0 for row in found.values()]
        panel.barh(list(found), means, xerr=[row["half"] or 0.0 for row in found.values()], color="#0072b2", ecolor="#555555")
        panel.invert_yaxis()
        panel.set_title(MEASURES[name].title, loc="left", fontsize=10)
        panel.grid(axis="x", alpha=0.3)
    for panel in list(axes.flat)[len(own) :]:
        panel.remove()
    pictures = _saved(pyplot, figure, "measures")
    for axis in ("k", "wait"):
        if len({getattr(cell, axis) for cell in comparison.cells}) > 1:
            pictures |= _saved(pyplot, _curves(pyplot, comparison, axis), f"loss-by-{axis}")
    return pictures


def _curves(pyplot: Any, comparison: Comparison, axis: str) -> Any:
    """Loss by k or by wait, a panel per data set."""
    names = list(dict.fromkeys(cell.data for cell in comparison.cells))
    figure, axes = pyplot.subplots(1, len(names), figsize=(5 * len(names), 4), layout="constrained", squeeze=False)
    for name, panel in zip(names, axes.flat, strict=True):
        own = [cell for cell in comparison.cells if cell.data == name]
        values = sorted({getattr(cell, axis) for cell in own})
        for label in comparison.labels:
            rows = [comparison.summary("loss", _at(own, axis, value))[label] for value in values]
            if all(row["mean"] is not None for row in rows):
                panel.errorbar(
                    values, [row["mean"] for row in rows], [row["half"] or 0.0 for row in rows], label=label, capsize=2
                )
        panel.set_title(name, loc="left")
        panel.set_xlabel(axis)
        panel.set_ylabel("loss")
        panel.grid(alpha=0.3)
    axes.flat[0].legend(frameon=False, fontsize=8)
    return figure


def _at(cells: Sequence[Cell], axis: str, value: float) -> list[Cell]:
    return [cell for cell in cells if getattr(cell, axis) == value]


def _saved(pyplot: Any, figure: Any, name: str) -> dict[str, bytes]:
    found = {}
    for kind in ("svg", "png"):
        drawn = io.BytesIO()
        figure.savefig(drawn, format=kind, dpi=130, metadata={"Date": None} if kind == "svg" else None)
        found[f"{name}.{kind}"] = drawn.getvalue()
    pyplot.close(figure)
    return found
