"""A pipeline on Spark from topic to topic of a real broker, killed and started again."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")
pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed; pip install 'shoal-stream[kafka]'")

import pyspark

from connectors.kafka_broker import Cluster, cluster, why_absent
from spark.cluster import descendants, end
from spark.stream import KEY, POLICY

JARS = Path(__file__).parents[2] / "build" / "spark-kafka"
PIPELINE = """
policy: policy.yaml
source: {{kafka: {{brokers: "{brokers}", topic: raw, group: shoal}}}}
sink: {{kafka: {{brokers: "{brokers}", topic: clean}}}}
state: {{dir: state, checkpoint: 1s, key: {{env: SHOAL_KEY}}}}
"""
EACH = 400


def connector_absent() -> str | None:
    """Why Spark cannot read from Kafka; None if it can."""
    connector = JARS / f"spark-sql-kafka-0-10_2.13-{pyspark.__version__}.jar"
    return None if connector.exists() else f"there is no connector of Spark {pyspark.__version__}; make spark-kafka fetches it"


@pytest.fixture
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    if reason := why_absent() or connector_absent():
        pytest.skip(reason)
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


def start(folder: Path) -> subprocess.Popen[bytes]:
    known = {
        "SHOAL_KEY": KEY,
        "SPARK_CONF_DIR": str(folder / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
    }
    command = [sys.executable, "-m", "shoal.cli", "pipe", str(folder / "pipeline.yaml"), "--on", "local[2]"]
    log = (folder / "log").open("ab")
    return subprocess.Popen(command, env={**os.environ, **known}, stdout=log, stderr=log, start_new_session=True)


def kill(process: subprocess.Popen[bytes]) -> None:
    for pid in [*descendants(process.pid), process.pid]:
        end(pid)
    process.wait()


def left(broker: Cluster) -> list[dict[str, Any]]:
    return [json.loads(message.value()) for message in broker.messages("clean")]


def wait_for(broker: Cluster, process: subprocess.Popen[bytes], count: int) -> None:
    """Until so many different records have left."""
    until = time.monotonic() + 600
    while len({row["id"] for row in left(broker)}) < count:
        assert process.poll() is None, "the pipeline ended"
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.5)


@pytest.mark.timeout(1800)
def test_nothing_is_lost_and_what_is_twice_is_the_same(broker: Cluster, tmp_path: Path) -> None:
    """Spark's sink is at least once: a batch that was being written when the query was killed is written again."""
    for topic in ("raw", "clean"):
        broker.create(topic, 2)
    jars = ",".join(map(str, sorted(JARS.glob("*.jar"))))
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(f"spark.jars {jars}\nspark.ui.enabled false\n")
    (tmp_path / "policy.yaml").write_text(POLICY.format(window="{time: 2s}") + "lanes: 2\n")
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(brokers=broker.brokers))
    broker.produce("raw", records(0))
    process = start(tmp_path)
    try:
        wait_for(broker, process, 1)
        broker.produce("raw", records(EACH))
        time.sleep(1)
        kill(process)
        broker.produce("raw", records(2 * EACH))
        process = start(tmp_path)
        wait_for(broker, process, EACH)
        broker.produce("raw", records(3 * EACH))
        wait_for(broker, process, 3 * EACH)
        process.send_signal(signal.SIGINT)
    finally:
        kill(process)
    rows = left(broker)
    found = {row["id"]: row for row in rows}
    assert set(range(3 * EACH)) <= set(found)
    assert all(list(row) == ["age", "pulse", "ill", "id"] for row in rows)
    assert all(row == found[row["id"]] for row in rows)
