"""Brokers that tests start, on free ports of the loopback, and stop by their process id."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Broker:
    """A server that can go away and come back on the same port."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port = port
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError(f"{self._command[0]} does not listen")

    def stop(self, kill: bool = False) -> None:
        if self._process is not None:
            self._process.kill() if kill else self._process.terminate()
            self._process.wait(20)
            self._process = None


@contextmanager
def running(broker: Broker) -> Iterator[Broker]:
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


def nats_server(program: str, folder: Path, *more: str) -> Broker:
    port = free_port()
    return Broker([program, "-js", "-sd", str(folder), "-a", "127.0.0.1", "-p", str(port), *more], port)


def mosquitto(program: str, folder: Path, *lines: str) -> Broker:
    port = free_port()
    settings = folder / "mosquitto.conf"
    chosen = lines or ("allow_anonymous true",)
    own = ["user root"] if os.getuid() == 0 else []  # else it becomes a user who cannot see the folder
    kept = [f"listener {port} 127.0.0.1", "persistence true", f"persistence_location {folder}/", "max_queued_messages 0"]
    settings.write_text("\n".join([*own, *kept, *chosen, ""]))
    return Broker([program, "-c", str(settings)], port)
