"""`shoal bench`: how fast shoal is on this machine, and how much it loses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.failure import reported

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.bench import Progress, Report

EXAMPLES = """
\b
Examples:
  shoal bench
  shoal bench default
  shoal bench speed --algorithms fads,idea --quick
  shoal bench loss --quick
  shoal bench all --json bench.json --plot bench.png
  shoal bench zanon

\b
Parts:
  default   the default, compared with fads; by window and k; one record per call
  speed     each algorithm, Arrow in to Arrow out in memory
  files     file to file, for each format; memory and start of shoal run
  growth    cost by window, by k and by number of quasi-identifiers
  loss      what each algorithm loses, by data set, k and window
  nulls     what each reading of nulls costs
  row       what one in k and a published time cost
  diversity what l costs, and whether the tuples that complete a group are found
  across    what releases of one person reveal: exact values, blocks, bags
  sparse    losses and waits if few persons arrive, with and without stretched windows
  twins     compared with the naive twins (in a checkout of the project)
  threads   two streams on two threads, compared with one
  lanes     one stream in lanes, and with workers of FAST: losses and speed
  roofline  the bytes that must be read, and what this core can read
  audit     an audit of tuples and of observations, with and without a trace; memory
  zanon     z-anonymity on ten million visits, compared with the package on PyPI
  pipe      a pipeline: file to file, how late tuples leave, how long checkpoints take
"""
ALL = "all"


@reported()
def bench(
    parts: Annotated[
        list[str] | None,
        typer.Argument(help="What to measure; default: speed, files, threads; all measures everything.", metavar="PART"),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Shorter streams and fewer rounds.")] = False,
    algorithms: Annotated[
        str | None, typer.Option(help="Only these algorithms, separated by commas.", metavar="NAMES", show_default=False)
    ] = None,
    rounds: Annotated[int | None, typer.Option(help="How often each figure is measured.", min=1, metavar="N")] = None,
    data: Annotated[
        str | None, typer.Option(help="The folder with adult/; default: SHOAL_DATA.", metavar="DIR", show_default=False)
    ] = None,
    json: Annotated[str | None, typer.Option(help="Write all figures, - for standard output.", metavar="FILE")] = None,
    plot: Annotated[str | None, typer.Option(help="Draw speed and growth, .png or .svg.", metavar="FILE")] = None,
) -> None:
    """Measure how fast shoal is on one core of this machine, on UCI Adult, or on generated visits.

    Algorithms take turns; each figure is a median. The full measurement takes about ten minutes, --quick one or two.
    """
    from dataclasses import replace

    from shoal import bench as benchmarks
    from shoal.cli.startup import use_pool
    from shoal.cli.terminal import errors, output, write

    use_pool()  # what is measured is what `shoal run` does
    asked = list(benchmarks.PARTS) if parts and ALL in parts else parts or list(benchmarks.DEFAULT)
    workload = benchmarks.QUICK if quick else benchmarks.FULL
    if rounds:
        workload = replace(workload, rounds=rounds)
    if plot:
        benchmarks.check_plot(plot, asked)
    names = [name.strip() for name in algorithms.split(",")] if algorithms else None
    with _shown(errors()) as on_progress:
        report = benchmarks.measure(asked, algorithms=names, data=data, workload=workload, on_progress=on_progress)
    _print(report, errors() if json == "-" else output())
    if json:
        write(json, report.to_json())
    if plot:
        benchmarks.plot(report, plot)


def _print(report: Report, console: Console) -> None:
    from rich.text import Text

    from shoal.cli.terminal import show_table

    console.print(Text(f"\n{report.headline}"))
    for table in report.tables():
        show_table(console, table)


@contextmanager
def _shown(console: Console) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, drawn only between steps, since drawing takes time; else one line per part."""
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    if not sys.stderr.isatty():
        seen: set[str] = set()

        def named(progress: Progress) -> None:
            if progress.part not in seen:
                seen.add(progress.part)
                console.print(f"measuring: {progress.part}")

        yield named
        return
    columns = (TextColumn("{task.fields[part]:8}"), BarColumn(28), TextColumn("{task.fields[doing]}"))
    with Bars(*columns, console=console, auto_refresh=False, transient=True) as bars:
        task = bars.add_task("", total=None, part="", doing="")

        def drawn(progress: Progress) -> None:
            part, doing, done, total = progress
            bars.update(task, part=part, doing=doing, completed=done, total=total)
            bars.refresh()

        yield drawn
