"""A page with a row for each algorithm, which later runs add rows to."""

from __future__ import annotations

from pathlib import Path

from shoal.bench.comparison.comparison import Comparison
from shoal.bench.comparison.measures import MEASURES
from shoal.bench.comparison.pages import kept
from shoal.errors import InputError

_SHOWN = ("loss", "query_error", "accuracy", "accuracy_input", "mean_wait", "suppressed", "linkage", "whole_row")
_HEADER = ("algorithm", *(MEASURES[name].title for name in _SHOWN), "promises", "version", "commit")
_START, _END = "<!-- rows -->", "<!-- end of rows -->"


def settings(comparison: Comparison) -> str:
    """The settings of a page, on one line: rows are comparable only if they are equal."""
    cells = "; ".join(map(str, comparison.cells))
    tuples = max(run["tuples"] for run in comparison.runs)
    seeds = ", ".join(map(str, comparison.provenance.seeds))
    return f"Settings: {cells}. {tuples:,} tuples each, seeds {seeds}."


def add_rows(page: str | Path, comparison: Comparison) -> None:
    """Put a row for each algorithm of the comparison on the page, the smallest loss first; rows of other algorithms stay.

    Raises InputError if the page has no place for rows, or its rows have other settings.
    """
    try:
        text = Path(page).read_text(encoding="utf-8")
        before, rest = text.split(_START)
        between, after = rest.split(_END)
    except (OSError, ValueError):
        raise InputError(f"{page}: is no page with {_START} and {_END}; name docs/leaderboard.md of the sources") from None
    lines = [line for line in between.splitlines() if line]
    heading = settings(comparison)
    found = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ") and "--:" not in line}
    found.pop(_HEADER[0], None)
    if found and lines[0] != heading:
        raise InputError(f"{page}: its rows have other settings; use those that the page names, or another page")
    sums = {name: comparison.summary(name) for name in _SHOWN}
    for label in comparison.labels:
        if sums["loss"][label]["mean"] is not None:
            loss, *others = (sums[name][label] for name in _SHOWN)
            shown = [MEASURES["loss"].shown(loss["mean"], loss["half"])]
            shown += [MEASURES[name].shown(other["mean"]) for name, other in zip(_SHOWN[1:], others, strict=True)]
            own = (label, *shown, kept(comparison, label), comparison.provenance.version, _short(comparison.provenance.commit))
            found[label] = f"| {' | '.join(own)} |"
    rows = sorted(found.values(), key=lambda line: float(line.split(" | ")[1].split()[0]))
    head = [f"| {' | '.join(_HEADER)} |", f"|---|{'--:|' * (len(_HEADER) - 1)}"]
    Path(page).write_text(f"{before}{_START}\n{heading}\n\n" + "\n".join([*head, *rows]) + f"\n{_END}{after}", encoding="utf-8")


def _short(commit: str) -> str:
    """
    >>> _short("0123456789abcdef"), _short("0123456789abcdef+")  # the sources were changed since
    ('0123456789', '0123456789+')
    """
    return commit[:10] + ("+" if commit.endswith("+") else "")
