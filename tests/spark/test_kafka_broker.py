"""From topic to topic of a real broker, by a pipeline on Spark and by a query of a user's own: killed and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")
pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed; pip install 'shoal-stream[kafka]'")

from connectors.kafka_broker import Cluster, cluster, why_absent
from spark import jars
from spark.cluster import descendants, end, wait_until
from spark.stream import KEY, POLICY

PIPELINE = """
policy: policy.yaml
source: {{kafka: {{brokers: "{brokers}", topic: raw, group: shoal}}}}
sink: {{kafka: {{brokers: "{brokers}", topic: clean}}}}
state: {{dir: state, checkpoint: 1s, key: {{env: SHOAL_KEY}}}}
"""
EACH = 400


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    jars.found()
    if reason := why_absent():
        jars.absent(reason)
    with cluster(tmp_path_factory.mktemp("kafka")) as found:
        yield found


def records(first: int) -> list[tuple[None, bytes]]:
    chance = random.Random(first)
    rows = [
        {"pid": f"p{i % 300}", "ts": i * 0.01, "age": chance.randrange(18, 90), "pulse": chance.randrange(50, 150),
         "ill": "flu", "id": i}
        for i in range(first, first + EACH)
    ]  # fmt: skip
    return [(None, json.dumps(row).encode()) for row in rows]


def start(folder: Path, command: Sequence[str]) -> subprocess.Popen[bytes]:
    known = {
        "SHOAL_KEY": KEY,
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }
    log = (folder / "log").open("ab")
    arguments = [sys.executable, "-m", *command]
    return subprocess.Popen(arguments, env={**os.environ, **known}, stdout=log, stderr=log, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    for pid in [*descendants(process.pid), process.pid]:
        end(pid)
    process.wait()


def left(broker: Cluster) -> list[dict[str, Any]]:
    return [json.loads(message.value()) for message in broker.messages("clean")]


def wait_for(broker: Cluster, process: subprocess.Popen[bytes], wanted: Collection[int]) -> None:
    """Until these records have left."""
    wait_until(lambda: process.poll() is not None or set(wanted) <= {row["id"] for row in left(broker)})
    assert process.poll() is None, "the pipeline ended"


def begun(folder: Path) -> int:
    """How many micro-batches were begun."""
    return sum(offsets.name.isdigit() for offsets in folder.rglob("checkpoint/offsets/*"))


@pytest.mark.jars
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("by", ["pipeline", "query"])
def test_nothing_is_lost_and_what_is_twice_is_the_same(broker: Cluster, tmp_path: Path, by: str) -> None:
    """Spark's sink is at least once: a batch that was being written when the query was killed is written again."""
    for topic in ("raw", "clean"):
        broker.create(topic, 2)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"spark.jars {jars.found()}\nspark.ui.enabled false\n")
    (tmp_path / "policy.yaml").write_text(POLICY.format(window="{time: 2s}") + "lanes: 2\n")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(brokers=broker.brokers))
    broker.produce("raw", records(0))
    pipeline = ("shoal.cli", "pipe", str(tmp_path / "pipeline.yaml"), "--on", "local[2]")
    command = pipeline if by == "pipeline" else ("spark.topic_query", broker.brokers, str(tmp_path))
    process = start(tmp_path, command)
    try:
        wait_for(broker, process, [0])
        before = begun(tmp_path)
        broker.produce("raw", records(EACH))
        wait_until(lambda: process.poll() is not None or begun(tmp_path) > before)
        kill(process)
        broker.produce("raw", records(2 * EACH))
        process = start(tmp_path, command)
        wait_for(broker, process, range(EACH))
        broker.produce("raw", records(3 * EACH))
        wait_for(broker, process, range(4 * EACH))
        process.send_signal(signal.SIGINT)
    finally:
        kill(process)
    rows = left(broker)
    found = {row["id"]: row for row in rows}
    assert set(found) == set(range(4 * EACH))
    assert all(list(row) == ["age", "pulse", "ill", "id"] for row in rows)
    assert all(row == found[row["id"]] for row in rows)
