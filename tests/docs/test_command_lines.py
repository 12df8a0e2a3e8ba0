"""The commands that the documents show: all are known, with their options. Some are run; other pages have their own tests."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
from tools.consoles import files
from tools.situations import write as write_situations
from typer.core import TyperGroup

from shoal.anonymizer import compile_kernels
from shoal.cli import app
from shoal.cli.options import with_port
from tests.docs.base import DOCUMENTS, ROOT, blocks, name, read

RUN = ("README.md", "docs/across.md")  # the README has those of the home page and of the guide to the audit, too
SERVERS = ("lab", "--page")  # of the commands that are run, those that serve until they are ended


def shown(text: str, languages: tuple[str, ...]) -> Iterator[str]:
    """The lines of blocks that begin with `shoal`, without their prompt and comment."""
    for block in blocks(text):
        if block.language in languages:
            for line in block.text.splitlines():
                command = line.removeprefix("$ ").partition("  #")[0].strip()
                if command.startswith("shoal "):
                    yield command


def words(command: str) -> list[str]:
    """Its arguments, up to a pipe, a redirection or the next command.

    >>> words("shoal infer people.csv > policy.yaml"), words("shoal run p.yaml a.csv - | head -2")
    (['infer', 'people.csv'], ['run', 'p.yaml', 'a.csv', '-'])
    """
    lexer = shlex.shlex(command.replace("2>", ">"), posix=True, punctuation_chars=True)
    lexer.wordchars += "…'[]{}:@,%+="
    found = []
    for word in lexer:
        if word in (">", "|", ";", "&&", ">>", "<"):
            break
        found.append(word)
    return found[1:]


COMMANDS = sorted(
    {(name(path), command) for path in DOCUMENTS for command in shown(path.read_text("utf-8"), ("sh", "text", "console"))}
)


def parse(arguments: list[str]) -> None:
    """As the command line does, but runs nothing."""
    found: Any = typer.main.get_command(app)
    context = found.context_class(found, info_name="shoal")
    while isinstance(found, TyperGroup):
        title, found, arguments = found.resolve_command(context, arguments)
        context = found.context_class(found, info_name=title, parent=context)
    found.make_parser(context).parse_args(args=with_port(arguments))


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 60
    assert {page for page, _ in COMMANDS} >= {*RUN, "docs/tutorial.md", "docs/kafka.md", "docs/hierarchies.md", "docs/page.md"}


@pytest.mark.parametrize(("page", "command"), COMMANDS)
def test_a_command_is_known(page: str, command: str) -> None:
    parse(words(command))


@pytest.mark.parametrize(("wrong", "expected"), [
    ("runn a b c", "No such command"), ("run --treace x a b c", "No such option"), ("hierarchy built bands", "No such command")
])  # fmt: skip
def test_a_command_that_is_wrong_is_noticed(wrong: str, expected: str) -> None:
    with pytest.raises(Exception, match=expected):
        parse(wrong.split())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Visits to a clinic as `people.csv`, and as `visits.csv` with an illness; the pipeline of the tutorial."""
    write_situations(tmp_path)
    text = (tmp_path / "clinic.csv").read_text("utf-8")
    (tmp_path / "people.csv").write_text(text, "utf-8")
    (tmp_path / "visits.csv").write_text(text.replace("diagnosis", "illness", 1), "utf-8")
    pipeline = files(read("docs/tutorial.md"))["pipeline.yaml"]
    (tmp_path / "pipeline.yaml").write_text(pipeline, "utf-8")
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("page", RUN)
def test_the_commands_of_a_page_run(page: str, folder: Path) -> None:
    compile_kernels("tide")
    commands = list(shown(read(page), ("sh",)))
    assert commands
    environment = {**os.environ, "PATH": f"{ROOT / '.venv/bin'}:{os.environ['PATH']}", "SHOAL_KEY": "00" * 32}
    for command in commands:
        if any(word in command.split() for word in SERVERS):
            serves(command, folder, environment)
        else:
            done = subprocess.run(command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def serves(command: str, folder: Path, environment: dict[str, str]) -> None:
    """Whether the command prints the address of a page, or ends well."""
    running = subprocess.Popen(
        [*shlex.split(command), *(["--port", "0"] if " lab " in command else ["0"])],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    killer = threading.Timer(60, running.kill)
    killer.start()
    try:
        assert running.stdout
        printed = []
        for line in running.stdout:
            printed.append(line)
            if "http://127.0.0.1:" in line:
                break
        assert "http://127.0.0.1:" in printed[-1], "".join(printed)
        running.send_signal(signal.SIGINT)
    finally:
        running.communicate()
        killer.cancel()
