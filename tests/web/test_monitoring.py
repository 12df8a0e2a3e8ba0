"""The board for Grafana and the alert rules, loaded by Prometheus itself (`apt-get install prometheus`; skipped without it)."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from shoal.web import serve
from tests.pipeline.base import wait_until
from tests.web.base import playing

HERE = Path(__file__).parent
MONITORING = HERE.parents[1] / "deploy" / "monitoring"
PROMTOOL, PROMETHEUS = shutil.which("promtool"), shutil.which("prometheus")
needed = pytest.mark.skipif(not (PROMTOOL and PROMETHEUS), reason="there is no Prometheus; apt-get install prometheus")


@needed
@pytest.mark.parametrize("arguments", [["check", "rules", MONITORING / "alerts.yaml"], ["test", "rules", HERE / "alerts.yaml"]])
def test_each_alert_fires_where_it_should(arguments: list[Any]) -> None:
    assert PROMTOOL
    done = subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_has_a_test() -> None:
    rules = re.findall(r"alert: (\w+)", (MONITORING / "alerts.yaml").read_text())
    tested = (HERE / "alerts.yaml").read_text()
    assert len(rules) == 11 and [rule for rule in rules if f"alertname: {rule}" not in tested] == []


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[str]:
    """A Prometheus that reads a running stream, with the alert rules."""
    assert PROMETHEUS
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with playing() as stage, serve(stage.telemetry, port=0) as address:
        stage.telemetry.checkpointed(0.1, 1)
        stage.telemetry.lag(3)
        targets = [{"targets": [address.removeprefix("http://").strip("/")]}]
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(MONITORING / "alerts.yaml")],
            "scrape_configs": [{"job_name": "shoal", "static_configs": targets}],
        }
        (tmp_path / "prometheus.yml").write_text(json.dumps(config))
        listen = f"127.0.0.1:{port}"
        files = [f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
        command = [PROMETHEUS, *files, f"--web.listen-address={listen}"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield f"http://{listen}"
        finally:
            process.kill()
            process.wait()


@needed
@pytest.mark.slow
def test_prometheus_loads_rules_and_answers_the_board(prometheus: str) -> None:
    def ask(expression: str) -> dict[str, Any]:
        answer: dict[str, Any] = httpx.get(f"{prometheus}/api/v1/query", params={"query": expression}).json()
        return answer

    def has_scraped_twice() -> bool:
        try:
            return bool(ask("count_over_time(shoal_up[1m]) > 3")["data"]["result"])
        except (httpx.HTTPError, ValueError):  # it begins
            return False

    wait_until(has_scraped_twice, 30)
    board = json.loads((MONITORING / "grafana.json").read_text())
    expressions = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = {text: ask(text.replace("$job", ".*").replace("$__rate_interval", "1m")) for text in expressions}
    assert {text: answer for text, answer in asked.items() if answer["status"] != "success"} == {}
    other = re.compile(r"seconds_bucket|deadline_seconds|waiting_share|connected|shoal_z|observations|p_kanon")
    empty = [text for text, answer in asked.items() if not answer["data"]["result"] and not other.search(text)]
    assert empty == []  # those of other streams apart, each panel shows something
    groups = httpx.get(f"{prometheus}/api/v1/rules").json()["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == 11 and {rule["health"] for rule in rules} == {"ok"}
    assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []
