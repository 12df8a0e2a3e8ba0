"""What happens to the process: closed pipes, signals, terminals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from cli.base import COMMAND, ENVIRONMENT, files, record, write

pytestmark = pytest.mark.slow


@pytest.fixture
def long(folder: Path) -> Path:
    write(folder / "people.jsonl", [record(i) for i in range(30_000)])
    return folder


def test_a_reader_who_leaves(long: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "run", "policy.yaml", "people.jsonl", "-", "--trace", "trace.jsonl"],
        cwd=long, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout and process.stderr
    assert json.loads(process.stdout.readline())["disease"] == "d0"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 141
    assert files(long) == {"policy.yaml", "people.jsonl"}


@pytest.mark.parametrize(
    ("number", "status", "told"),
    [(signal.SIGINT, 130, b"interrupted\n"), (signal.SIGTERM, 143, b""), (signal.SIGHUP, 129, b"")],
)
@pytest.mark.parametrize("target", ["out.jsonl", "out.parquet", "out.csv.gz"])
def test_an_interrupted_run_leaves_nothing(folder: Path, number: int, status: int, told: bytes, target: str) -> None:
    process = subprocess.Popen(
        [*COMMAND, "run", "policy.yaml", "-", target, "--trace", "trace.jsonl"],
        cwd=folder, env=ENVIRONMENT, stdin=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # a test run in the background may ignore it
    )  # fmt: skip
    assert process.stdin and process.stderr
    process.stdin.write((folder / "people.jsonl").read_bytes())
    process.stdin.flush()
    deadline = time.monotonic() + 120
    while len(files(folder)) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.3)
    process.send_signal(number)
    assert process.stderr.read() == told
    assert process.wait() == status
    assert files(folder) == {"policy.yaml", "people.jsonl"}
    process.stdin.close()


def _on_terminal(folder: Path, *arguments: str) -> tuple[int, str]:
    """The status of a command whose standard error is a terminal, and what it says there."""
    ours, theirs = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": "xterm-256color", "COLUMNS": "100"}
    process = subprocess.Popen([*COMMAND, *arguments], cwd=folder, env=environment, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while piece := os.read(ours, 65_536):
            said += piece
    except OSError:
        pass
    os.close(ours)
    return process.wait(), said.decode()


def test_a_terminal_shows_progress_and_a_summary(long: Path) -> None:
    status, said = _on_terminal(long, "run", "policy.yaml", "people.jsonl", "out.jsonl")
    assert status == 0
    for told in ("tuples/s", "0 held", "0 suppressed", "smallest group", "longest wait", "rejected"):
        assert told in said


def test_rejections_stay_readable_beside_the_bar(folder: Path) -> None:
    write(folder / "people.jsonl", [record(i, **({"age": 7731} if i == 40 else {})) for i in range(100)])
    status, said = _on_terminal(folder, "run", "policy.yaml", "people.jsonl", "out.jsonl")
    assert status == 0
    assert "people.jsonl: row 41, 'age': outside [0, 100] (value withheld)" in said
    assert "1 (1.0 %)" in said
    assert "7731" not in said
