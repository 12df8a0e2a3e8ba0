"""Writes docs/cli.md, the reference of all commands, from the command line itself.

python -m tools.commands
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from shoal.cli import app

PAGE = Path(__file__).parents[1] / "docs/cli.md"
_HEAD = """# Commands

`python -m tools.commands` writes this page from the command line itself; `shoal COMMAND --help` prints the same.
[Operate](operations.md) explains what each command is for, the formats and the exit codes.
"""


def text() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(part for path, command in commands() for part in section(path, command))])


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with its full name, in the order of the help; of a group its commands."""
    yield from _below("shoal", get_command(app))


def _below(path: str, command: Any) -> Iterator[tuple[str, Any]]:
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
    else:
        for name, each in inner.items():
            yield from _below(f"{path} {name}", each)


def section(path: str, command: Any) -> Iterator[str]:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden and each.name != "help"]
    usage = [path, *(_placeholder(each) for each in arguments), *(["[OPTIONS]"] if options else [])]
    yield f"## {path}\n"
    yield f"```text\n{' '.join(usage)}\n```\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    if arguments or options:
        yield "| | what | default |\n|---|---|---|"
        yield from (_row(_placeholder(each), each) for each in arguments)
        yield from (_row(_flag(each), each) for each in options)
        yield ""
    for title, lines in _epilog(command.epilog or ""):
        yield f"{title}\n\n```text\n{lines}\n```\n"


def _placeholder(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    name += "..." if argument.nargs == -1 and not name.endswith("...") else ""
    return name if argument.required else f"[{name}]"


def _flag(option: Any) -> str:
    kind = "" if option.is_flag else f" {option.metavar or option.name.upper()}"
    return ", ".join([*option.opts, *option.secondary_opts]) + kind


def _row(name: str, parameter: Any) -> str:
    default = "required" if parameter.required else _default(parameter)
    # in code, neither a bar nor an escaped one is shown as a bar by every reader of Markdown
    shown = f"<code>{name.replace('|', '&#124;')}</code>" if "|" in name else f"`{name}`"
    return f"| {shown} | {(parameter.help or '').replace('|', chr(92) + '|')} | {default} |"


def _default(parameter: Any) -> str:
    value = parameter.default
    return "" if value is None or value is False or value == "" or callable(value) else f"`{value}`"


def _epilog(epilog: str) -> Iterator[tuple[str, str]]:
    """The blocks of an epilog, a title and its lines each."""
    for block in epilog.replace("\b", "").split("\n\n"):
        title, _, lines = block.strip().partition("\n")
        if lines:
            yield title, inspect.cleandoc(f"\n{lines}")


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
