"""The command line: one file per command, each over one public function."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer

from shoal.cli import audit, bench, blocks, check, completion, demo, hierarchy, infer, lab, pipe, plan, reproduce, run, schema
from shoal.cli.options import Paged

__all__ = ["app", "main"]

EXAMPLES = """
\b
Examples:
  shoal demo
  shoal infer people.csv > policy.yaml
  shoal check policy.yaml people.csv
  shoal run policy.yaml people.csv anonymized.csv --trace private.jsonl
  shoal audit policy.yaml people.csv anonymized.csv --trace private.jsonl
"""

app = typer.Typer(
    name="shoal",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=run.EXAMPLES)(run.run)
app.command(short_help="Anonymize a live stream, exactly once.", epilog=pipe.EXAMPLES, cls=Paged)(pipe.pipe)
app.command(short_help="Check a policy, and data against it.", epilog=check.EXAMPLES)(check.check)
app.command(short_help="Judge whether the promises of a policy held.", epilog=audit.EXAMPLES)(audit.audit)
app.command(short_help="Draft a policy from a sample of the data.", epilog=infer.EXAMPLES)(infer.infer)
app.add_typer(hierarchy.app)
app.command(short_help="Draft blocks of a stable attribute.", epilog=blocks.EXAMPLES)(blocks.blocks)
app.command(short_help="Print the JSON schema of policies, for editors.", epilog=schema.EXAMPLES)(schema.schema)
app.command(short_help="Print a script that completes commands in a shell.", epilog=completion.EXAMPLES)(completion.completion)
app.command(short_help="Recommend a z and a window for z-anonymity.", epilog=plan.EXAMPLES)(plan.plan)
app.command(short_help="Find a policy by looking, in the browser.", epilog=lab.EXAMPLES)(lab.lab)
app.command(short_help="Anonymize a generated stream, and show it.", epilog=demo.EXAMPLES)(demo.demo)
app.command(short_help="Measure how fast shoal is on this machine.", epilog=bench.EXAMPLES)(bench.bench)
app.command(short_help="Run the experiments of the papers again.", epilog=reproduce.EXAMPLES)(reproduce.reproduce)


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"shoal {version('shoal-stream')}")
        except PackageNotFoundError:
            typer.echo("shoal, not installed")
        raise typer.Exit()


@app.callback(epilog=EXAMPLES)
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Anonymize data streams while they flow: each record leaves within its deadline, one of k persons."""


def main() -> None:
    """The `shoal` command.

    The process ends at once when the work is done: a reading thread of Arrow that calls Python while the interpreter shuts
    down would abort it.
    """
    status: str | int | None = 0
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them takes time, and there are none
    if completion.VARIABLE in os.environ:
        completion.prepare()
    try:
        app(prog_name="shoal")
    except SystemExit as end:
        status = end.code
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status if isinstance(status, int) else status is not None)
