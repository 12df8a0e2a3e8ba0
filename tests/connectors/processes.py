"""Brokers that tests start, on free ports of the loopback, and stop by their process id."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def free_port() -> int:
    """A port that the system does not choose for clients.

    Such a port could be taken while a server is away: a client that tries again and again even connects to itself.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Broker:
    """A server that can go away and come back on the same port."""

    def __init__(self, command: list[str], port: int) -> None:
        self.port = port
        self._command = command
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
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


def postgres_programs() -> Path | None:
    """The folder of PostgreSQL's programs: on the path, or where Debian has them."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return installed[-1].parent if installed else None


class Postgres(Broker):
    """A server of its own, which does not run as root: then it runs as the user that Debian's package brings."""

    def start(self) -> None:
        super().start()
        ready = [str(Path(self._command[-3]).parent / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        until = time.monotonic() + 20
        while subprocess.run(ready).returncode:
            assert time.monotonic() < until, "it takes no connections"
            time.sleep(0.05)

    def stop(self, kill: bool = False) -> None:
        """A fast stop: open connections are closed."""
        if self._process is not None:
            pid = int((Path(self._command[-1]) / "postmaster.pid").read_text().split()[0])
            os.kill(pid, signal.SIGQUIT if kill else signal.SIGINT)
            self._process.wait(20)
            self._process = None


@contextmanager
def postgres(programs: Path, *settings: str) -> Iterator[Postgres]:
    """A running server, in a folder of its own that its user can reach, unlike pytest's."""
    port = free_port()
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="shoal-postgres-") as folder:
        if user:
            shutil.chown(folder, "postgres")
        data = Path(folder) / "data"
        setup = [*user, str(programs / "initdb"), "-D", str(data), "-U", "shoal", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(setup, check=True, stdout=subprocess.DEVNULL, cwd=folder)
        own = [f"port = {port}", "listen_addresses = '127.0.0.1'", f"unix_socket_directories = '{folder}'"]
        with (data / "postgresql.conf").open("a") as file:
            file.write("\n".join([*own, "wal_level = logical", *settings, ""]))
        with running(Postgres([*user, str(programs / "postgres"), "-D", str(data)], port)) as server:
            yield server  # type: ignore[misc]
