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

EXAMPLES = """
\b
Examples:
  shoal run policy.yaml people.csv anonymized.csv
  shoal run policy.yaml people.jsonl.gz anonymized.parquet --trace private.jsonl
  gunzip -c people.jsonl.gz | shoal run policy.yaml - - | head
"""


def run(
    policy: Annotated[str, typer.Argument(help="The policy, a YAML file.", metavar="POLICY", show_default=False)],
    source: Annotated[str, typer.Argument(help="The file to read, or - for JSON lines.", metavar="INPUT")],
    target: Annotated[str, typer.Argument(help="The file to write, or - for JSON lines.", metavar="OUTPUT")],
    trace: Annotated[
        str | None,
        typer.Option(help="Write how each tuple left, a JSON line each. Private.", metavar="FILE", show_default=False),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first rejected record, status 2.")] = False,
) -> None:
    """Anonymize INPUT by POLICY into OUTPUT.

    The suffix of a file says its kind: .jsonl, .csv (each also .gz), .parquet or .arrow. Rejected records are
    reported on standard error by row and reason, never by value.
    """
    with reported(policy):
        _run(policy, source, target, trace, strict)


def _run(path: str, source: str, target: str, trace: str | None, strict: bool) -> None:
    import shoal
    from shoal.cli.run_display import Rejections, drift, faults, progress_bar, summary
    from shoal.cli.startup import prepare_kernels, save_memory
    from shoal.cli.terminal import errors, say

    save_memory()
    console = errors()
    policy = shoal.Policy.load(path)
    if source == "-" or os.path.exists(source):
        prepare_kernels(policy, partial(say, console))
    rejections = Rejections(console, source)
    with progress_bar(console) if _is_watched(source, target) else nullcontext() as bar:
        start = perf_counter()
        try:
            stats = shoal.run(policy, source, target, trace=trace, strict=strict, on_reject=rejections, on_progress=bar)
        finally:
            rejections.close()
        elapsed = perf_counter() - start
    for fault in faults(stats):
        say(console, fault)
    if bar:
        console.print(summary(policy, stats, elapsed))
    else:
        for line in drift(stats):
            say(console, f"{source}: {line}")


def _is_watched(source: str, target: str) -> bool:
    """Whether a bar on standard error is seen, and is not mixed with other output on the terminal."""
    busy = (source == "-" and sys.stdin.isatty()) or (target == "-" and sys.stdout.isatty())
    return sys.stderr.isatty() and not busy
