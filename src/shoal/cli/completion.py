"""`shoal completion`: the script with which a shell completes commands and options."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

EXAMPLES = """
\b
Examples:
  shoal completion bash > ~/.local/share/bash-completion/completions/shoal
  shoal completion zsh > ~/.zfunc/_shoal
  shoal completion fish > ~/.config/fish/completions/shoal.fish
"""


VARIABLE = "_SHOAL_COMPLETE"  # is set when a shell asks what can follow


def prepare() -> None:
    """Make the answers to shells known to the command line's library."""
    from typer._completion_classes import completion_init

    completion_init()


class Shell(StrEnum):
    """The shells that are known."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="The shell.", metavar="bash|zsh|fish")]) -> None:
    """Print a script with which a shell completes the commands and options of shoal.

    The script asks `shoal` what can follow, so it stays the same for new versions.
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="shoal", complete_var=VARIABLE, shell=shell.value))
