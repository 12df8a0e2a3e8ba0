"""`shoal reproduce`: the experiments of the papers, run again."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.failure import reported
from shoal.errors import InputError

EXAMPLES = """
\b
Examples:
  shoal reproduce kvarp --data data --out reproduction
  shoal reproduce all --data data --out reproduction --quick

\b
Papers:
  kvarp     K-VARP, figures 5 to 10
  idea      IDEA, figures 4 to 9
  xband     X-BAND, figures 2 to 7
  fast      FAST, figures 3 to 8
  zanon     z-anonymity, figures 2 to 8 and C.10; needs no data
  overview  all algorithms on all data sets; not from a paper
  readings  the claims that do not hold, under other readings of the papers
"""
ALL, READINGS = "all", "readings"


@reported()
def reproduce(
    papers: Annotated[
        list[str],
        typer.Argument(help="kvarp, idea, xband, fast, zanon, overview; all; or readings.", metavar="PAPER"),
    ],
    out: Annotated[str, typer.Option(help="The folder for figures, numbers and the report.", metavar="DIR")],
    data: Annotated[
        str | None,
        typer.Option(
            help="The folder with adult/, informs/ and pm25/; default: SHOAL_DATA.", metavar="DIR", show_default=False
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Few tuples and few settings.")] = False,
    workers: Annotated[int | None, typer.Option(help="Processes; one per core by default.", min=1, metavar="N")] = None,
) -> None:
    """Repeat the experiments of the papers, and say for each claim whether it holds.

    Finished runs are stored in DIR/runs, so an interrupted command continues where it stopped. See docs/reproduction.
    """
    from pathlib import Path

    from shoal import experiments
    from shoal.cli.terminal import errors, output, progress_bar, say
    from shoal.datasets import adult

    home = adult.home_of_data(data)
    if READINGS in papers:
        if len(papers) > 1 or quick:
            raise InputError("readings: cannot be combined with papers or with --quick; run it alone")
        with progress_bar(errors()) as on_progress:
            path = experiments.write_readings(Path(out), home, workers=workers, on_progress=on_progress)
        say(output(), f"readings: {path}")
        return
    names = list(experiments.PAPERS) if ALL in papers else papers
    scale = experiments.QUICK if quick else experiments.FULL
    with progress_bar(errors()) as on_progress:
        chapters = experiments.reproduce(names, home, Path(out), scale=scale, workers=workers, on_progress=on_progress)
    for paper, findings in chapters:
        say(output(), f"{paper.title}: {experiments.tally(findings.claims)}")
    say(output(), f"report: {Path(out) / 'report.md'} and {Path(out) / 'report.html'}")
