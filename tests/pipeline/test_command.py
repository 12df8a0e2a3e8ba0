"""`shoal pipe` as a user runs it: signals, refusals, and what it never says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from connectors.processes import free_port
from tests.cli.base import COMMAND, ENVIRONMENT

from .base import KEY, lines, place, record, wait_until

pytestmark = pytest.mark.slow

SECRETS = ("Zebulon", "Atlantis", "psoriasis", "4242.4242")


def begun(folder: Path, *options: str, environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "pipe", "pipeline.yaml", *options], cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**ENVIRONMENT, "SHOAL_KEY": KEY, **(environment or {})},
    )  # fmt: skip


def done(folder: Path, *options: str) -> tuple[int, str, str]:
    process = begun(folder, *options)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def scraped(port: int) -> str:
    return httpx.get(f"http://127.0.0.1:{port}/metrics").text


def clean(folder: Path) -> list[str]:
    path = folder / "clean.jsonl"
    return path.read_text().splitlines() if path.exists() else []


def test_a_signal_stops_it_at_once_and_it_goes_on_later(tmp_path: Path) -> None:
    place(tmp_path, 300, window="{count: 60}", follow=True)
    process = begun(tmp_path)
    wait_until(lambda: len(clean(tmp_path)) > 100)
    start = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 0
    assert time.monotonic() - start < 2
    before = len(clean(tmp_path))
    assert 0 < before < 300
    assert done(tmp_path, "--drain")[0] == 0
    assert len(clean(tmp_path)) == 300


def test_check(tmp_path: Path) -> None:
    place(tmp_path, 100)
    tried = ["source: file can be read", "sink: file can be written", "trace: file can be written"]
    status, out, _ = done(tmp_path, "--check")
    assert status == 0 and out.splitlines() == ["state: no state yet; the pipeline starts from the beginning", *tried]
    assert done(tmp_path)[0] == 0
    status, out, _ = done(tmp_path, "--check")
    assert status == 0 and out.splitlines() == [
        "state: 100 tuples had left at the last checkpoint, 0 were held", "the journal after it is whole: 0 entries",
        "the state fits", *tried,
    ]  # fmt: skip


def test_problems_are_told_with_the_file(tmp_path: Path) -> None:
    place(tmp_path)
    (tmp_path / "pipeline.yaml").write_text("policy: policy.yaml\nsource: stdin\nsink: stdout\nstate: {dir: state}")
    status, _, err = done(tmp_path)
    assert (status, err) == (2, "pipeline.yaml: state.key: is missing; add the secret that it is encrypted with, such as "
        "{env: SHOAL_KEY}\n")  # fmt: skip


def test_standard_streams(tmp_path: Path) -> None:
    place(tmp_path, 0, window="{count: 60}")
    text = (tmp_path / "pipeline.yaml").read_text().replace("{file: {path: raw.jsonl, follow: false}}", "stdin")
    (tmp_path / "pipeline.yaml").write_text(text.replace("{file: {path: clean.jsonl}}", "stdout"))
    process = subprocess.run(
        [*COMMAND, "pipe", "pipeline.yaml"], cwd=tmp_path, text=True, capture_output=True, timeout=120,
        input=lines(record(i) for i in range(150)), env={**ENVIRONMENT, "SHOAL_KEY": KEY},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert len(process.stdout.splitlines()) == 150


def test_a_full_disk(tmp_path: Path) -> None:
    """What could not be written is not half there, and comes when there is room."""
    place(tmp_path, 3000, window="{count: 60}")
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000)); "
        "from shoal.cli import main; sys.argv = ['shoal', 'pipe', 'pipeline.yaml']; main()"
    )
    environment = {**ENVIRONMENT, "SHOAL_KEY": KEY}
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert process.returncode == 2 and "cannot be written (file too large); make room" in process.stderr
    assert "Traceback" not in process.stderr
    assert done(tmp_path)[0] == 0
    assert len(clean(tmp_path)) == 3000


def test_it_never_says_what_the_data_are(tmp_path: Path) -> None:
    """Planted identities and values are in nothing that it writes, but where they are published."""
    port = free_port()
    more = f"dead_letters: {{file: dead.jsonl, most: 1000}}\nlate: {{allow: 5s}}\ntelemetry: {{prometheus: '127.0.0.1:{port}'}}"
    place(tmp_path, window="{time: 2s}", more=more, checkpoint="20ms", follow=True)
    bad = [
        record(1, pid="Zebulon", age="Zebulon"),
        record(2, pid="Zebulon", city="Atlantis"),
        record(3, age=4242.4242),
        record(4, moment="Atlantis"),  # type: ignore[arg-type]
        record(5, moment=-100.0, pid="Zebulon"),
    ]
    text = "".join(lines([record(i), bad[i % 5], record(i + 1, pid="Zebulon", disease="psoriasis")]) for i in range(100))
    (tmp_path / "raw.jsonl").write_text(text + '{"pid": "Zebulon", "age": 4242.4242, psoriasis\n')
    process = begun(tmp_path, "--verbose")
    wait_until(lambda: (tmp_path / "dead.jsonl").exists() and "malformed" in (tmp_path / "dead.jsonl").read_text())
    wait_until(lambda: 'shoal_rejected_total{reason="malformed JSON; give one object per line"} 1.0' in scraped(port))
    metrics = scraped(port)
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0
    dead = (tmp_path / "dead.jsonl").read_text()
    assert len(dead.splitlines()) > 100 and {json.loads(line)["field"] for line in dead.splitlines()} >= {"age", "city", "t"}
    assert "checkpoint:" in err  # it did speak, at debug level
    told = [out, err, dead, metrics, (tmp_path / "trace.jsonl").read_text()]
    told += [path.read_bytes().decode("latin-1") for path in (tmp_path / "state").iterdir()]
    for secret in SECRETS:
        assert not [text for text in told if secret in text], secret
    assert "Zebulon" not in "".join(clean(tmp_path))


def test_faults_of_shoal_withhold_their_text(tmp_path: Path) -> None:
    place(tmp_path, 50)
    code = (
        "import sys; from shoal.pipeline import pipe\n"
        "def broken(*_): raise ValueError('Zebulon')\n"
        "pipe.Pipe._apply = broken\n"
        "from shoal.cli import main; sys.argv = ['shoal', 'pipe', 'pipeline.yaml']; main()"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**ENVIRONMENT, "SHOAL_KEY": KEY}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip
    assert process.returncode == 1 and "Zebulon" not in process.stderr
    assert "a fault of shoal: ValueError" in process.stderr


@pytest.mark.parametrize("rest", ["", "{"])
def test_a_followed_file_is_read_line_by_line(tmp_path: Path, rest: str) -> None:
    place(tmp_path, 100, window="{count: 60}", follow=True)
    process = begun(tmp_path)
    wait_until(lambda: len(clean(tmp_path)) > 0)
    with (tmp_path / "raw.jsonl").open("a") as raw:
        half = json.dumps(record(100))
        raw.write(half[:10])
        raw.flush()
        time.sleep(0.2)
        raw.write(half[10:] + "\n" + lines(record(i) for i in range(101, 300)) + rest)
    wait_until(lambda: len(clean(tmp_path)) > 200)
    process.send_signal(signal.SIGINT)
    assert process.wait(10) == 0
    assert done(tmp_path, "--drain")[0] == 0
    assert len(clean(tmp_path)) == 300


def test_raw_records_are_gone_when_checkpoints_are(tmp_path: Path) -> None:
    """What left, and what the last two checkpoints do not hold any more, is nowhere on the disk."""
    place(tmp_path, 500, window="{count: 60}", checkpoint="10ms")
    assert done(tmp_path)[0] == 0
    files = sorted(path.name for path in (tmp_path / "state").iterdir())
    assert len([name for name in files if name.startswith("checkpoint")]) == 2
    assert len([name for name in files if name.startswith("journal")]) == 2
    assert os.path.getsize(tmp_path / "state" / files[-2]) < 100  # the newest journal has no entry


def test_a_signal_during_the_start_is_not_lost(tmp_path: Path) -> None:
    """Whatever is raised inside a callback, as there are in imports and compilers, would be."""
    place(tmp_path, 10, follow=True)
    code = (
        "import os, signal, weakref\n"
        "import shoal.cli.startup as startup\n"
        "class Thing: pass\n"
        "def prepared(*_):\n"
        "    thing = Thing()\n"
        "    ended = weakref.ref(thing, lambda _: (os.kill(os.getpid(), signal.SIGTERM), [None] * 10))\n"
        "    del thing\n"
        "startup.prepare_kernels = prepared\n"
        "from shoal.cli import app\n"
        "app(['pipe', 'pipeline.yaml'])\n"
    )
    environment = {**os.environ, "SHOAL_KEY": KEY}
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, timeout=30, capture_output=True)
    assert ended.returncode == 128 + signal.SIGTERM
