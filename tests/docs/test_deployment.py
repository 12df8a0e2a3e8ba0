"""docs/deployment.md names every extra, and the path that the systemd unit starts."""

from __future__ import annotations

import re
import tomllib

from tests.docs.base import prose, read

PAGE = read("docs/deployment.md")


def test_every_extra_is_named() -> None:
    extras = tomllib.loads(read("pyproject.toml"))["project"]["optional-dependencies"]
    table = prose(PAGE).partition("| extra | for |")[2].partition("\n\n")[0]
    named = [name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)]
    assert sorted(named) == sorted(extras)


def test_the_unit_starts_what_the_page_installs() -> None:
    command = re.search(r"^ExecStart=(\S+)", read("deploy/shoal.service"), re.MULTILINE)
    assert command
    assert f"{command[1]} --version" in PAGE
    assert f"python3 -m venv {command[1].removesuffix('/bin/shoal')}\n" in PAGE
