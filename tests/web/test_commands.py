"""`shoal pipe --page` and `shoal demo --live` as a user runs them."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.cli.base import COMMAND, ENVIRONMENT, shoal_run
from tests.pipeline.base import KEY, lines, place, record, wait_until
from tests.web.test_server import metrics

pytestmark = pytest.mark.slow


@contextmanager
def begun(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that is stopped when the test ends, at the latest."""
    environment = {**ENVIRONMENT, "SHOAL_KEY": KEY, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def address(process: subprocess.Popen[str], text: str = "") -> str:
    """The address that a command prints, in a line with this text."""
    assert process.stdout
    for line in process.stdout:
        if text in line and (found := re.search(r"http://\S+/", line)):
            return found[0]
    raise AssertionError("no address was printed")


def arrived(told: dict[str, Any]) -> float:
    """The records of all seconds in a snapshot's history."""
    place_of_in = told["history"]["names"].index("in")
    return sum(row[place_of_in] or 0 for row in told["history"]["rows"])


def test_a_pipeline_with_a_page(tmp_path: Path) -> None:
    place(tmp_path, 400, window="{count: 60}", follow=True, checkpoint="200ms")
    with begun(tmp_path, "pipe", "pipeline.yaml", "--page", "0") as process:
        page = address(process, "the page is at")
        wait_until(lambda: httpx.get(f"{page}readyz").status_code == 200)
        wait_until(lambda: metrics(httpx.get(f"{page}metrics").text)["shoal_received_total"] == 400)
        with (tmp_path / "raw.jsonl").open("a") as raw:
            raw.write(lines([record(400, age=4242)]))
        wait_until(lambda: metrics(httpx.get(f"{page}metrics").text)["shoal_received_total"] == 401)
        wait_until(lambda: "shoal_checkpoint_bytes" in metrics(httpx.get(f"{page}metrics").text))
        told = httpx.get(f"{page}api/snapshot").json()
        assert told["smallest_group"] >= 3 and told["sizes"]["held"] > 0
        assert list(told["reasons"].values()) == [1] and "4242" not in str(told)
        assert told["about"] == {"pipeline": "pipeline.yaml", "source": "file raw.jsonl", "sink": "file clean.jsonl"}
        assert httpx.get(f"{page}api/shoal").status_code == 404
        wait_until(lambda: metrics(httpx.get(f"{page}metrics").text).get("shoal_source_lag") == 0)
        assert "<title>shoal</title>" in httpx.get(page).text
        wait_until(lambda: arrived(httpx.get(f"{page}api/snapshot").json()) == 401)  # a second is kept once it is over
        with httpx.stream("GET", f"{page}api/events", timeout=20) as answer:
            process.send_signal(signal.SIGTERM)
            events = [line for line in answer.iter_lines() if line.startswith("data: ")]
        assert '"state":"stopped","reason":"it was asked to stop"' in events[-1]
        assert process.wait(10) == 0
    with begun(tmp_path, "pipe", "pipeline.yaml", "--page", "0") as process:
        page = address(process, "the page is at")
        wait_until(lambda: httpx.get(f"{page}readyz").status_code == 200)
        told = httpx.get(f"{page}api/snapshot").json()
        assert (told["totals"]["received"], told["rates"]["in"]) == (401, 0)
        assert arrived(told) == 401  # before
        said = [entry["text"] for entry in told["log"]["entries"]]
        assert said[0] == "The pipeline has started." and said[-2:] == [
            "The pipeline has stopped: it was asked to stop.", "The pipeline continues.",
        ]  # fmt: skip


def test_a_pipeline_with_bare_metrics(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place(tmp_path, 100, window="{count: 60}", follow=True, more=f'telemetry: {{prometheus: "127.0.0.1:{port}"}}')
    with begun(tmp_path, "pipe", "pipeline.yaml") as process:
        served = address(process, "metrics at")
        assert served == f"http://127.0.0.1:{port}/"
        wait_until(lambda: metrics(httpx.get(f"{served}metrics").text)["shoal_received_total"] == 100)
        assert httpx.get(f"{served}healthz").text == "running\n"
        assert [httpx.get(served + path).status_code for path in ("", "api/snapshot", "api/events")] == [404] * 3


def test_the_live_demo(tmp_path: Path) -> None:
    with begun(tmp_path, "demo", "--live", "--port", "0") as process:
        page = address(process)
        assert page.startswith("http://127.0.0.1:")
        wait_until(lambda: metrics(httpx.get(f"{page}metrics").text)["shoal_received_total"] > 300)
        wait_until(lambda: httpx.get(f"{page}api/shoal").json()["groups"], 60)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["demo", "--live"], ["pipe", "pipeline.yaml", "--page"]])
def test_not_beyond_loopback_without_a_token(tmp_path: Path, command: list[str]) -> None:
    place(tmp_path)
    done = shoal_run(*command, "--host", "0.0.0.0", cwd=tmp_path)
    told = "--host 0.0.0.0: is not loopback; set SHOAL_TOKEN, or name a file with --token-file"
    assert done.returncode == 2 and done.stderr.splitlines()[-1].endswith(told)
