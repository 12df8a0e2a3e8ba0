"""A schema registry that tests start: Apicurio, which speaks the interface of Confluent's."""

from __future__ import annotations

import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from connectors.processes import free_port

FOLDER = Path(__file__).parents[2] / "build" / "registry"
STARTING = 240.0  # seconds that it may take to start, on a busy machine


def why_absent() -> str | None:
    """Why no registry can be started; None if one can."""
    if shutil.which("java") is None:
        return "there is no Java; on Debian, apt-get install openjdk-17-jre-headless"
    return None if (FOLDER / "ready").exists() else "there is no schema registry; make registry fetches it, by Maven"


@contextmanager
def registry_server(folder: Path) -> Iterator[str]:
    """The address of a registry that is empty, and stopped at the end."""
    port = free_port()
    where = ["-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
    jar = next(FOLDER.glob("*-runner.jar"))
    command = ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", *where, "-jar", str(jar)]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
    try:
        until = time.monotonic() + STARTING
        while not _answers(url):
            assert process.poll() is None and time.monotonic() < until, "the registry does not start"
            time.sleep(0.2)
        yield url
    finally:
        process.kill()
        process.wait(20)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/subjects", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
