"""Hours of a stream in a minute: what a pipeline holds, in memory, in descriptors and on the disk, stays as it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from connectors.processes import free_port

from .base import KEY, lines, place, record, wait_until
from .test_kill_more import received

RATE = 100  # records a second of the stream's time
FILE = 15_000  # records of a file that is dropped into the folder
WAITING = 4  # files that wait in the folder
PIPELINE = """
policy: policy.yaml
source: {{folder: {{path: in, after: delete}}}}
sink: {{parquet: {{path: clean, number: nr, roll: {{rows: 50k, every: 1s}}}}}}
state: {{dir: state, checkpoint: 200ms, key: {{env: SHOAL_KEY}}}}
ahead: {{allow: 1h, then: reject}}
trace: {{file: trace.jsonl, rotate: 100000}}
dead_letters: {{file: dead.jsonl}}
telemetry: {{prometheus: "127.0.0.1:{port}"}}
"""


class Held(NamedTuple):
    """What a process holds."""

    memory: float  # MB
    descriptors: int
    threads: int
    state: float  # MB on the disk

    @classmethod
    def by(cls, process: int, state: Path) -> Held:
        status = dict(line.split(":", 1) for line in Path(f"/proc/{process}/status").read_text().splitlines())
        sizes = []
        for path in state.iterdir():
            try:
                sizes.append(path.stat().st_size)
            except FileNotFoundError:  # a checkpoint was removed meanwhile
                continue
        memory = int(status["VmRSS"].split()[0]) / 1024
        return cls(memory, len(os.listdir(f"/proc/{process}/fd")), int(status["Threads"]), sum(sizes) / 1e6)


def dropped(folder: Path, number: int, begun: float) -> None:
    """A file of records: people come and go, each note is another one, and some records are rejected."""
    first = number * FILE
    records = []
    for i in range(first, first + FILE):
        changes: dict[str, Any] = {"pid": i // 5 if i % 2 else i % 1009, "note": f"note {i}"}
        if i % 50 == 7:
            changes["age"] = 999
        records.append(record(i, begun + i / RATE, **changes))
    draft = folder / f"{number:06}.part"
    draft.write_text(lines(records))
    draft.rename(folder / f"{number:06}.jsonl")


def held_over(folder: Path, hours: float, algorithm: str) -> list[Held]:
    """Run a pipeline over so many hours of a stream; what it held each time it had read a file."""
    place(folder, window="{time: 20s}")
    text = (folder / "policy.yaml").read_text().replace("{name: fads}", f"{{name: {algorithm}}}")
    (folder / "policy.yaml").write_text(text.replace("privacy:", "  note:    {publish: keep}\nprivacy:"))
    port, source = free_port(), folder / "in"
    source.mkdir()
    (folder / "pipeline.yaml").write_text(PIPELINE.format(port=port))
    count = round(hours * 3600 * RATE / FILE)
    begun = time.time() - count * FILE / RATE
    command = [sys.executable, "-m", "shoal.cli", "pipe", str(folder / "pipeline.yaml")]
    process = subprocess.Popen(command, env={**os.environ, "SHOAL_KEY": KEY})
    found: list[Held] = []
    try:
        for number in range(count):
            dropped(source, number, begun)
            wait_until(lambda: process.poll() is not None or len(list(source.iterdir())) <= WAITING, 300)
            assert process.poll() is None, "the pipeline ended"
            if number > WAITING:
                found.append(Held.by(process.pid, folder / "state"))
                assert "shoal_" in httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=60).text
        wait_until(lambda: received(folder) == count * FILE, 300)
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
    drained = subprocess.run([*command, "--drain"], env={**os.environ, "SHOAL_KEY": KEY})
    assert drained.returncode == 0
    left = sum(len(path.read_bytes().splitlines()) for path in folder.glob("trace*.jsonl"))
    assert left == count * FILE - count * FILE // 50
    return found


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("algorithm", ["tide", "fads"])
def test_hours_in_a_minute(tmp_path: Path, algorithm: str) -> None:
    """Memory rises and falls with each commit of the sink; what is left after that is in the last third what it was before."""
    found = held_over(tmp_path, 4, algorithm)
    third = len(found) // 3
    before, after = (Held(*map(min, zip(*some, strict=True))) for some in (found[third : 2 * third], found[2 * third :]))
    assert after.memory <= before.memory + 20 and after.state <= before.state + 1, (before, after)
    assert after.descriptors <= before.descriptors and after.threads <= before.threads, (before, after)
