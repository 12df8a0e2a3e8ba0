"""What a run on Spark leaves behind, logs at INFO and without compression, is searched for what was planted in its input."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from spark.cluster import descendants, end, free, wait_until
from spark.stream import FOLLOWING, KEY

POLICY = """
person: pid
time: {field: ts}
attributes:
  salary: {quasi: numeric, range: [0, 100000000], grid: 1000000}
  pulse: {quasi: numeric, range: [30, 220], grid: 10}
  illness: {sensitive: true}
privacy: {k: 5}
window: {count: 100}
algorithm: {name: fads}
lanes: 2
"""
LOGS = """
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c %m%n%ex
logger.spark.name = org.apache.spark
logger.spark.level = info
"""
SETTINGS = """
spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.dir {folder}/events
spark.local.dir {folder}/local
spark.ui.port {port}
spark.driver.bindAddress 127.0.0.1
spark.driver.host 127.0.0.1
spark.shuffle.compress false
spark.shuffle.spill.compress false
spark.broadcast.compress false
"""
SHOWN = (
    "", "/jobs", "/stages?details=true&withSummaries=true", "/sql?details=true&planDescription=true&length=10000",
    "/environment", "/executors", "/storage/rdd",
)  # fmt: skip
PERSON, ILLNESS, SALARY, SIZE = "zqxjkv-person", "vwqzyx-illness", 73_519_264, 400
PLAN = b"pulse"  # a plan names it
PLANTED = {
    "a person": PERSON.encode(),
    "an illness": ILLNESS.encode(),
    "a salary": b"735192",
    "a salary, as a whole number": struct.pack("<q", SALARY),
    "a salary, as a float": struct.pack("<d", SALARY),
    "a salary, as Java writes it": struct.pack(">q", SALARY),
    "the key": KEY.encode(),
}


def found(data: bytes) -> list[str]:
    return [name for name, planted in PLANTED.items() if planted in data]


def contents(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """All files, and what archives hold."""
    for file in sorted(folder.rglob("*")):
        try:
            if not file.is_file():
                continue
            if zipfile.is_zipfile(file):
                with zipfile.ZipFile(file) as archive:
                    yield from ((file / name, archive.read(name)) for name in archive.namelist())
            else:
                yield file, file.read_bytes()
        except OSError:
            continue  # gone by now: it is the folder of a process that runs


def write(folder: Path, number: int) -> None:
    records = [
        {"pid": f"{PERSON}{i}", "ts": i, "salary": SALARY + i % 7, "pulse": 50 + i % 90, "illness": ILLNESS}
        for i in range(SIZE * number, SIZE * (number + 1))
    ]
    (folder / ".draft").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / ".draft").rename(folder / f"{number}.jsonl")


def shown(port: int) -> bytes:
    """All that the UI tells of the application."""

    def get(path: str) -> bytes:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=300) as answer:
            return bytes(answer.read())

    (application,) = json.loads(get("/api/v1/applications"))
    parts = [get(f"/api/v1/applications/{application['id']}{path}") for path in SHOWN]
    return b"\n".join([*parts, get("/StreamingQuery/"), get("/SQL/"), get("/environment/")])


@pytest.mark.skipif(shutil.which("java") is None, reason="no Java on this machine")
def test_nothing_that_was_planted_is_found(tmp_path: Path) -> None:
    port = free()
    for name in ("in", "conf", "events", "local"):
        (tmp_path / name).mkdir()
    write(tmp_path / "in", 0)
    (tmp_path / "policy.yaml").write_text(POLICY)
    (tmp_path / "pipeline.yaml").write_text(FOLLOWING)
    (tmp_path / "conf" / "log4j2.properties").write_text(LOGS)
    (tmp_path / "conf" / "spark-defaults.conf").write_text(SETTINGS.format(folder=tmp_path, port=port))
    told = {"SPARK_CONF_DIR": str(tmp_path / "conf"), "SPARK_LOCAL_IP": "127.0.0.1", "SHOAL_KEY": KEY}
    log = tmp_path / "log"
    command = [sys.executable, "-m", "shoal.cli", "pipe", str(tmp_path / "pipeline.yaml"), "--on", "local[2]"]
    with log.open("wb") as out:
        process = subprocess.Popen(command, env={**os.environ, **told}, stdout=out, stderr=out, start_new_session=True)
    sink = tmp_path / "clean.jsonl"

    def ended() -> bool:
        return process.poll() is not None

    def left() -> int:
        return sum(file.stat().st_size for file in sink.glob("part-*"))

    def reported() -> bytes:
        return b"".join(data for _, data in contents(tmp_path / "events"))

    try:
        wait_until(lambda: ended() or left() > 0)
        before = left()
        write(tmp_path / "in", 1)
        wait_until(lambda: ended() or left() > before)
        wait_until(lambda: ended() or (PLAN in reported() and PLAN in shown(port)))
        assert not ended(), log.read_text()[-2000:]
        ui = shown(port)
    finally:
        for pid in [*descendants(process.pid), process.pid]:
            end(pid)  # so that nothing is tidied up
        process.wait()
    assert ILLNESS in "".join(file.read_text() for file in sink.glob("part-*"))  # published as it is, and only there
    assert "a person" in found((tmp_path / "in" / "0.jsonl").read_bytes())
    for place, text in (("log", log.read_bytes()), ("event log", reported()), ("ui", ui)):
        assert PLAN in text, f"{place}: no plan is shown, so nothing was searched"
        assert found(text) == [], place
    places = [*contents(tmp_path / "state"), *contents(tmp_path / "local")]
    assert sum(len(data) for _, data in places) > 100_000
    assert {str(file.relative_to(tmp_path)): what for file, data in places if (what := found(data))} == {}
