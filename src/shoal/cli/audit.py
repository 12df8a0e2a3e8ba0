"""`shoal audit`: whether the promises held, what an outsider can do, what is left of the data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.failure import reported

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.audit import Progress, Report

EXAMPLES = """
\b
Examples:
  shoal audit policy.yaml people.csv anonymized.csv --trace private.jsonl
  shoal audit policy.yaml people.parquet anonymized.parquet --json report.json
  shoal audit policy.yaml in.csv out.csv --trace t.jsonl --price --html report.html
  shoal audit policy.yaml in.csv out.csv --trace t.jsonl --dpia assessment.html
  shoal audit policy.yaml people.csv anonymized.csv --population everyone.csv
  shoal audit policy.yaml in.csv out.csv --trace t.jsonl --manifest t.manifest.json
"""
BROKEN = 1


def audit(
    policy: Annotated[str, typer.Argument(help="The policy, a YAML file.", metavar="POLICY", show_default=False)],
    source: Annotated[str, typer.Argument(help="The input of the run.", metavar="INPUT", show_default=False)],
    target: Annotated[str, typer.Argument(help="The output of the run.", metavar="OUTPUT", show_default=False)],
    trace: Annotated[
        str | None, typer.Option(help="How each tuple left, as `shoal run` wrote it.", metavar="FILE", show_default=False)
    ] = None,
    late: Annotated[
        str | None, typer.Option(help="The late.allow of the pipeline.", metavar="SPAN", show_default=False)
    ] = None,
    manifest: Annotated[
        str | None,
        typer.Option(help="Judge a pipeline that runs, by the manifest beside its trace.", metavar="FILE", show_default=False),
    ] = None,
    since: Annotated[
        str | None, typer.Option(help="With a manifest: judge what left after this time.", metavar="TIME", show_default=False)
    ] = None,
    until: Annotated[
        str | None, typer.Option(help="With a manifest: judge what left up to this time.", metavar="TIME", show_default=False)
    ] = None,
    population: Annotated[
        str | None,
        typer.Option(help="Records of the whole population, for k-map and presence.", metavar="FILE", show_default=False),
    ] = None,
    ahead: Annotated[
        str | None,
        typer.Option(help="The ahead.allow of the pipeline, or --ahead of the run.", metavar="SPAN", show_default=False),
    ] = None,
    bags: Annotated[
        str | None, typer.Option(help="The second output, of attributes in bags.", metavar="FILE", show_default=False)
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Who runs the audit, for the report; default: your login name.", metavar="NAME", show_default=False),
    ] = None,
    price: Annotated[
        bool, typer.Option("--price", help="Measure what recommendations cost, on the first 20,000 records.")
    ] = False,
    html: Annotated[str | None, typer.Option(help="Write the report as one page.", metavar="FILE", show_default=False)] = None,
    dpia: Annotated[
        str | None,
        typer.Option(
            "--dpia",
            help="Write a data protection impact assessment, as far as it can be filled.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    json: Annotated[
        str | None, typer.Option(help="Write all figures, - for standard output.", metavar="FILE", show_default=False)
    ] = None,
) -> None:
    """Judge OUTPUT: were the promises of POLICY kept, what can an outsider still do, what is left of the data?

    Shares no code with the engine. Status 1 if a promise was broken, or an attack succeeds more often than
    privacy.accept says; 2 if a file cannot be used; otherwise 0. Without a trace it checks less, and says so.
    """
    with reported(policy):
        from shoal.audit import audit as judged
        from shoal.audit import read_manifest
        from shoal.cli.options import moment, seconds
        from shoal.cli.terminal import errors, output, write
        from shoal.errors import InputError
        from shoal.storage import fetched

        files = (source, target, trace, population, bags)
        with _shown(errors()) as on_progress, fetched(*files) as (given, published, traced, known, bagged):
            allowed = None if late is None else seconds("--late", late)
            future = None if ahead is None else seconds("--ahead", ahead)
            if manifest is None and (since or until):
                raise InputError(f"{'--since' if since else '--until'}: needs the pipeline's manifest; add --manifest FILE")
            span = read_manifest(manifest, moment("--since", since), moment("--until", until)) if manifest else None
            report = judged(
                policy, given, published, traced, late=allowed, ahead=future, population=known, span=span, bags=bagged,
                by=by, on_progress=on_progress,
            )  # fmt: skip
            if price:
                from dataclasses import replace

                from shoal.lab import prices

                report = replace(report, prices=prices(report, policy, given))
        _show(report, target, errors() if json == "-" else output())
        if json:
            write(json, report.to_json())
        if html:
            write(html, report.to_html())  # type: ignore[attr-defined, unused-ignore]
        if dpia:
            write(dpia, report.to_assessment())
    if not (report.held and report.accepted):
        raise typer.Exit(BROKEN)


def _show(report: Report, target: str, console: Console) -> None:
    from shoal.cli.judgement import in_lines, in_tables

    if console.is_terminal:
        in_tables(report, target, console)
    else:
        in_lines(report, target, console)


@contextmanager
def _shown(console: Console) -> Iterator[Callable[[Progress], None]]:
    """A line on a terminal that shows what is being done; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda progress: None
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    with Bars(BarColumn(28), TextColumn("{task.fields[doing]}"), console=console, transient=True) as bars:
        task = bars.add_task("", total=None, doing="")

        def drawn(progress: Progress) -> None:
            doing, done, total = progress
            line = f"{doing}, {done:,} rows" if total is None else doing
            bars.update(task, doing=line, completed=done, total=total)

        yield drawn
