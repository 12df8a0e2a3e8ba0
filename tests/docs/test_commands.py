"""Every command is told in the README and in docs/operations.md."""

from __future__ import annotations

import re

import pytest

from shoal.cli import app
from tests.docs.base import read

COMMANDS = [command.callback.__name__ for command in app.registered_commands if command.callback]
COMMANDS += [str(group.typer_instance.info.name) for group in app.registered_groups if group.typer_instance]


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_told(command: str, page: str) -> None:
    assert f"`shoal {command}" in read(page)


@pytest.mark.parametrize("page", ["README.md", "docs/operations.md", "docs/tutorial.md"])
def test_no_command_is_told_that_is_not_there(page: str) -> None:
    told = set(re.findall(r"(?:`|\$ )shoal ([a-z]+)", read(page)))
    assert told
    assert told <= set(COMMANDS)
