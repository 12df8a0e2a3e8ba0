"""The papers' experiments from the data to the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shoal import InputError, extras
from shoal.experiments import fast, idea, kvarp, overview, xband, zanon
from shoal.experiments.paper import FULL, Paper, Scale
from shoal.experiments.pool import OnProgress, draw_all, run_all
from shoal.experiments.report import Chapter, write
from shoal.experiments.runs import source

PAPERS: Mapping[str, Paper] = {each.PAPER.name: each.PAPER for each in (kvarp, idea, xband, fast, zanon, overview)}
KEPT = "runs"


def reproduce(
    names: Sequence[str],
    data: Path,
    out: Path,
    *,
    scale: Scale = FULL,
    workers: int | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> list[Chapter]:
    """Run what is asked for, and write figures, numbers and a report into a folder.

    Outcomes are kept in its folder `runs`, by settings, code and data: a run that was interrupted goes on. Raises InputError if
    matplotlib is not installed, a paper is unknown, a data file is missing, or the folder cannot be written.
    """
    extras.require_plots()
    papers = [_paper(name) for name in dict.fromkeys(names)]
    for name in dict.fromkeys(name for paper in papers for name in paper.sources):
        source(data, name)
    try:
        out.mkdir(parents=True, exist_ok=True)
        results = run_all([job for paper in papers for job in paper.jobs(scale)], data, out / KEPT, workers, on_progress)
        chapters = [Chapter(paper, paper.findings(scale, results)) for paper in papers]
        drawn = [(figure, out / paper.name) for paper, findings in chapters for figure in findings.figures]
        draw_all(drawn, workers, on_progress)
        write(out, chapters, scale)
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({(error.strerror or 'no access').lower()})") from None
    return chapters


def _paper(name: str) -> Paper:
    if name not in PAPERS:
        raise InputError(f"paper {name!r} is none; known are {', '.join(PAPERS)}, and all")
    return PAPERS[name]
