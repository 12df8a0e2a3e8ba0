"""Pipelines that are killed at any moment, again and again."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import pytest

from examples import times
from shoal.audit import audit

from .base import kill, lines, place, record, start, wait_until

pytestmark = pytest.mark.slow


class Growing(threading.Thread):
    """Appends records to a file as time goes by, each with the moment at which it is written."""

    def __init__(self, path: Path, rate: int = 400) -> None:
        super().__init__(daemon=True)
        self._path, self._pause, self._done = path, 10 / rate, threading.Event()
        self.count = 0

    def run(self) -> None:
        with self._path.open("a") as file:
            while not self._done.wait(self._pause):
                now = time.time()
                file.write(lines(record(self.count + i, now + i / 10_000) for i in range(10)))
                file.flush()
                self.count += 10

    def end(self) -> int:
        self._done.set()
        self.join()
        return self.count


BAGS = "bags: {file: {path: bags.jsonl}}"


def survives(folder: Path, kills: int, seed: int, in_bags: bool = False) -> int:
    """Kill a pipeline so many times while its input grows; how many tuples left in the end, every promise kept."""
    file = place(folder, window="{time: 300ms}", follow=True, checkpoint="50ms", more=BAGS if in_bags else "")
    if in_bags:
        policy = (folder / "policy.yaml").read_text()
        policy = policy.replace("{sensitive: true}", "{sensitive: true, stable: true, as: bag, bag: 50}")
        (folder / "policy.yaml").write_text(f"{policy}releases: {{per_person: 5, per: 1s, beyond: withhold}}\n")
    chance, growing = random.Random(seed), Growing(folder / "raw.jsonl")
    growing.start()
    for _ in range(kills):
        process = start(folder / "pipeline.yaml")
        if chance.random() < 0.7:  # else it is killed while it starts
            known = {path.name for path in file.state.dir.glob("journal-*")}
            wait_until(lambda known=known: bool({p.name for p in file.state.dir.glob("journal-*")} - known))  # type: ignore[misc]
        time.sleep(chance.random() * 0.3)
        kill(process)
    count = growing.end()
    process = start(folder / "pipeline.yaml")
    trace = folder / "trace.jsonl"
    wait_until(lambda: trace.exists() and len(trace.read_bytes().splitlines()) == count)
    process.terminate()
    process.join()
    assert process.exitcode == 0
    bags = folder / "bags.jsonl" if in_bags else None
    report = audit(folder / "policy.yaml", folder / "raw.jsonl", folder / "clean.jsonl", trace=trace, bags=bags)
    assert report.held, report.to_dict()
    assert not in_bags or report["bags"].figures["disease"]["bags"] > 5
    return len((folder / "clean.jsonl").read_bytes().splitlines()) - count


def test_nothing_is_lost_or_twice(tmp_path: Path) -> None:
    assert survives(tmp_path, kills=8, seed=1) == 0


def test_bags_and_budgets(tmp_path: Path) -> None:
    """Each value is in one bag, and no person leaves more often, however often the pipeline is killed."""
    assert survives(tmp_path, kills=8, seed=3, in_bags=True) == 0


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("in_bags", [False, True])
def test_nothing_is_lost_or_twice_over_many_kills(tmp_path: Path, in_bags: bool) -> None:
    assert survives(tmp_path, kills=times(200), seed=2, in_bags=in_bags) == 0
