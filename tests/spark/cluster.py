"""A standalone cluster on loopback, whose processes can be killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

CLASS = "org.apache.spark.deploy."
SETTINGS = """
spark.authenticate true
spark.authenticate.secret only-for-tests
spark.network.crypto.enabled true
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.ui.enabled false
spark.executor.memory 1g
spark.cores.max 2
spark.executor.cores 1
spark.worker.timeout 15
"""


class Cluster:
    """A master and two workers of one core each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        (folder / "conf").mkdir()
        (folder / "conf" / "spark-defaults.conf").write_text(SETTINGS)
        self._port = free()
        self.url = f"spark://127.0.0.1:{self._port}"
        self.started: list[subprocess.Popen[bytes]] = []
        self._spark("master.Master", "--host", "127.0.0.1", "--port", str(self._port), "--webui-port", str(free()))
        self.workers = [self.worker() for _ in range(2)]

    @property
    def environment(self) -> dict[str, str]:
        known = {"SPARK_CONF_DIR": str(self._folder / "conf"), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        return {**os.environ, **known}

    def worker(self) -> subprocess.Popen[bytes]:
        work = self._folder / f"work{len(self.started)}"
        room = ["--cores", "1", "--memory", "1g", "--work-dir", str(work)]
        return self._spark("worker.Worker", "--host", "127.0.0.1", "--webui-port", str(free()), *room, self.url)

    def start(self, *command: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"log{len(self.started)}").open("wb")
        process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.started.append(process)
        return process

    def _spark(self, name: str, *options: str) -> subprocess.Popen[bytes]:
        found = find_spec("pyspark")
        assert found and found.origin
        return self.start(str(Path(found.origin).parent / "bin" / "spark-class"), CLASS + name, *options)

    def executors(self) -> list[int]:
        """The ids of the executors of its workers."""
        return [pid for worker in self.workers for pid in children(worker.pid) if b"CoarseGrainedExecutorBackend" in said(pid)]

    def pythons(self) -> list[int]:
        """The ids of the Python processes of its executors: of each the daemon, and the workers that it forks."""
        return [pid for executor in self.executors() for pid in descendants(executor)]

    def close(self) -> None:
        for process in self.started:
            for pid in [*descendants(process.pid), process.pid]:
                end(pid)
            process.wait()


def end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def said(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def children(pid: int) -> list[int]:
    try:
        return [int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    found = children(pid)
    return [each for child in found for each in descendants(child)] + found


def free() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def wait_until(holds: Callable[[], bool], seconds: float = 1200) -> None:
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.5)
