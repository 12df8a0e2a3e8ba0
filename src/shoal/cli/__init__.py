"""The command line: one file per command, each over one public function."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from typing import Annotated

import typer

from shoal.cli import completion
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

COMMANDS = {
    "run": "Anonymize INPUT by POLICY into OUTPUT.",
    "pipe": "Anonymize a live stream, exactly once.",
    "check": "Check a policy, and data against it.",
    "audit": "Check whether an output keeps the promises of its policy.",
    "infer": "Draft a policy from a sample of the data.",
    "blocks": "Draft blocks of a stable attribute.",
    "schema": "Print the JSON schema of policies, for editors.",
    "completion": "Print a script that completes commands in a shell.",
    "plan": "Recommend a z and a window for z-anonymity.",
    "lab": "Try policies on a sample, in the browser.",
    "demo": "Anonymize a generated stream, and show the result.",
    "bench": "Measure how fast shoal is on this machine.",
    "compare": "Compare algorithms at the same longest wait.",
    "reproduce": "Repeat the experiments of the papers.",
    "datasets": "Prepare public data sets from their downloads.",
    "hierarchy": "Build, show, check and complete hierarchies of categories.",
}
"""Each is a module with a function of that name, or with an `app` of commands."""

_OBJECTS = 50_000
"""Python looks for garbage after so many new objects: starting makes hardly any, and looking took a tenth of its time."""

_LEAN = {"check", "infer", "run"}
"""Commands that need none of the packages that pyarrow imports only if they are installed; `pipe` sees to that itself."""

app: typer.Typer


def __getattr__(name: str) -> typer.Typer:
    if name != "app":
        raise AttributeError(f"module 'shoal.cli' has no attribute {name!r}")
    return globals().setdefault(name, with_commands(COMMANDS))


def with_commands(names: Iterable[str]) -> typer.Typer:
    """The command line with these commands alone, so that one of them starts without the others."""
    built = typer.Typer(
        name="shoal",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    built.callback(epilog=EXAMPLES)(root)
    for name in names:
        module = import_module(f"shoal.cli.{name}")
        if hasattr(module, "app"):
            built.add_typer(module.app)
        else:
            kind = Paged if name == "pipe" else None
            built.command(short_help=COMMANDS[name], epilog=module.EXAMPLES, cls=kind)(getattr(module, name))
    return built


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import PackageNotFoundError, version

        try:
            typer.echo(f"shoal {version('shoal-stream')}")
        except PackageNotFoundError:
            typer.echo("shoal, not installed")
        raise typer.Exit()


def root(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Anonymize data streams while they flow: each record leaves by its deadline, in a row that at least k persons share."""


def main() -> None:
    """The `shoal` command.

    The process ends at once when the work is done: a reading thread of Arrow that calls Python while the interpreter shuts
    down would abort it.
    """
    status: str | int | None = 0
    gc.set_threshold(_OBJECTS)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # looking for them takes time, and there are none
    names: Iterable[str] = {*sys.argv[1:2]} & {*COMMANDS} or COMMANDS
    if completion.VARIABLE in os.environ:
        completion.prepare()
        names = COMMANDS
    if {*names} <= _LEAN:
        from shoal.cli.startup import skip_unused

        skip_unused()
    try:
        with_commands(names)(prog_name="shoal")
    except SystemExit as end:
        status = end.code
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(status if isinstance(status, int) else status is not None)
