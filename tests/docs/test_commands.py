"""Every command is named in the README and in docs/operations.md."""

from __future__ import annotations

import re

import pytest

from shoal.cli import app
from tests.docs.base import read

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]
COMMANDS += [str(group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance]


def named(page: str) -> set[str]:
    """The commands that a page shows: in the text, at a prompt, or in a block of commands."""
    text = read(page)
    blocks = "".join(re.findall(r"^```sh\n(.*?)^```", text, re.DOTALL | re.MULTILINE))
    return {*re.findall(r"(?:`|\$ )shoal ([a-z]+)", text), *re.findall(r"^shoal ([a-z]+)", blocks, re.MULTILINE)}


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md"])
def test_every_command_is_named(page: str) -> None:
    assert set(COMMANDS) <= named(page)


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md", "docs/tutorial.md"])
def test_no_unknown_command_is_named(page: str) -> None:
    assert named(page)
    assert named(page) <= set(COMMANDS)
