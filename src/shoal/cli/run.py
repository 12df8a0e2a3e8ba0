"""`shoal run`: anonymize a file or a pipe."""

from __future__ import annotations

import os
import sys
from contextlib import nullcontext
from functools import partial
from time import perf_counter
from typing import Annotated

import typer

from shoal.cli.failure import reported

TOO_MANY = 1
EXAMPLES = """
\b
Examples:
  shoal run policy.yaml people.csv anonymized.csv
  shoal run policy.yaml people.jsonl.gz anonymized.parquet --trace private.jsonl
  gunzip -c people.jsonl.gz | shoal run policy.yaml - - | head
  cat people.csv | shoal run policy.yaml - - --from csv --to csv > anonymized.csv
  shoal run policy.yaml people.csv anonymized.csv --max-rejected 1% --json
"""


def run(
    policy: Annotated[str, typer.Argument(help="The policy, a YAML file.", metavar="POLICY", show_default=False)],
    source: Annotated[str, typer.Argument(help="The file to read, or - for standard input.", metavar="INPUT")],
    target: Annotated[str, typer.Argument(help="The file to write, or - for standard output.", metavar="OUTPUT")],
    trace: Annotated[
        str | None,
        typer.Option(
            help="Write which row became which, as JSON lines, for the audit. Private.", metavar="FILE", show_default=False
        ),
    ] = None,
    bags: Annotated[
        str | None,
        typer.Option(
            help="The second output: attributes with `as: bag`. Default: beside OUTPUT.", metavar="FILE", show_default=False
        ),
    ] = None,
    ahead: Annotated[
        str | None,
        typer.Option(
            help="Reject a record whose time is this far ahead of its neighbours, such as 1h.",
            metavar="SPAN",
            show_default=False,
        ),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first rejected record, with status 2.")] = False,
    max_rejected: Annotated[
        str, typer.Option(help="If more are rejected, the output is a draft, and the status is 1.", metavar="SHARE")
    ] = "5%",
    read_as: Annotated[
        str | None,
        typer.Option("--from", help="The format of standard input: csv, tsv or jsonl.", metavar="FORMAT", show_default="jsonl"),
    ] = None,
    write_as: Annotated[
        str | None,
        typer.Option("--to", help="The format of standard output: csv or jsonl.", metavar="FORMAT", show_default="jsonl"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the figures of the run as JSON.")] = False,
) -> None:
    """Anonymize INPUT by POLICY into OUTPUT.

    The suffix of a file is its format: .jsonl and .csv (also compressed: .gz, .zst, .bz2, .xz), .parquet, .arrow, .feather,
    .avro, and for INPUT also .json, .tsv, .orc, .xlsx, .xls, .xlsb, .ods. Rejected records are reported on standard error,
    by place and reason, never by value. If too many are rejected, the output is a draft with another name.
    """
    with reported(policy):
        from shoal.cli.options import seconds
        from shoal.formats import standard

        span = None if ahead is None else seconds("--ahead", ahead)
        source, target = standard(source, read_as, "--from"), standard(target, write_as, "--to")
        too_many = _run(policy, source, target, trace, bags, strict, span, share_of(max_rejected), json)
    if too_many:
        raise typer.Exit(TOO_MANY)


def share_of(text: str, option: str = "--max-rejected") -> float:
    """
    >>> share_of("5%"), share_of("0.1"), share_of("100 %")
    (0.05, 0.1, 1.0)
    """
    from shoal.errors import InputError

    number, percent, rest = text.strip().partition("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if rest or not 0 <= share <= 1:
        raise InputError(f"{option}: is not a share; write it like 5% or 0.05, from 0 to 1")
    return share


def _run(
    path: str, source: str, target: str, trace: str | None, bags: str | None, strict: bool, ahead: float | None, most: float,
    json: bool,
) -> bool:  # fmt: skip
    """Whether more records were rejected than allowed."""
    import shoal
    from shoal.cli.run_display import Rejections, as_json, drift, faults, outside, progress_bar, singled_out, summary, too_many
    from shoal.cli.startup import prepare_kernels, use_pool
    from shoal.cli.terminal import errors, say
    from shoal.errors import InputError, RejectedError
    from shoal.formats import is_standard

    if json and is_standard(target):
        raise InputError("--json: standard output is the OUTPUT; write OUTPUT to a file")
    use_pool()
    console = errors()
    refused: RejectedError | None = None
    policy = shoal.Policy.load(path)
    if source == "-" and (policy.input.separator or policy.input.header):
        raise InputError("-: is read as JSON lines, but input of the policy describes a CSV; add --from csv or --from jsonl")
    if is_standard(source) or os.path.exists(source):
        prepare_kernels(policy, partial(say, console))
    rejections = Rejections(console, source)
    with progress_bar(console) if _is_watched(source, target) else nullcontext() as bar:
        start = perf_counter()
        try:
            stats = shoal.run(
                policy, source, target, trace=trace, bags=bags, strict=strict, ahead=ahead, max_rejected=most,
                on_reject=rejections, on_progress=bar,
            )  # fmt: skip
        except RejectedError as error:
            stats, refused = error.stats, error
        finally:
            rejections.close()
        elapsed = perf_counter() - start
    for fault in faults(stats):
        say(console, fault)
    if bar:
        console.print(summary(policy, stats, elapsed))
    else:
        for line in (*outside(policy, stats), *drift(stats)):
            say(console, f"{source}: {line}")
    for line in singled_out(policy, stats):
        say(console, line if bar else f"{source}: {line}", "yellow")
    if refused:
        too_many(console, refused)
    if json:
        typer.echo(as_json(path, source, target, stats, elapsed, refused))
    return refused is not None


def _is_watched(source: str, target: str) -> bool:
    """Whether a bar on standard error is seen, and is not mixed with other output on the terminal."""
    from shoal.formats import is_standard

    busy = (is_standard(source) and sys.stdin.isatty()) or (is_standard(target) and sys.stdout.isatty())
    return sys.stderr.isatty() and not busy
