"""What the server gives, to whom, and how it guards it."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import given
from prometheus_client.parser import text_string_to_metric_families

from shoal import Anonymizer, Policy
from shoal.errors import InputError
from shoal.telemetry import Telemetry
from shoal.web import page, serve, token_for
from shoal.web.page import registry
from tests.examples import examples
from tests.web.base import FILTER, POLICY, Stage, people, playing, policy

TOKEN = "0123456789abcdef"
STATIC = Path(page.__code__.co_filename).parent / "static"


@pytest.fixture
def stage() -> Stage:
    """A stream of which something has left."""
    made = Stage()
    for seed in range(3):
        made.telemetry.after(made.anonymizer, made.anonymizer.push_batch(people(300, seed)))
    return made


@pytest.fixture
def client(stage: Stage) -> Iterator[TestClient]:
    with TestClient(page(stage.telemetry), base_url="http://localhost") as found:
        yield found


@pytest.fixture
def locked(stage: Stage) -> Iterator[TestClient]:
    with TestClient(page(stage.telemetry, TOKEN), base_url="http://stream.example", follow_redirects=False) as found:
        yield found


def metrics(text: str) -> dict[str, float]:
    """Each sample under its name, with its labels if it has any."""
    return {
        sample.name + "".join(f"|{value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_are_those_of_the_stream(client: TestClient, stage: Stage) -> None:
    stage.telemetry.checkpointed(0.25, 4096)
    stage.telemetry.lag(12)
    stage.telemetry.after(stage.anonymizer, stage.anonymizer.push_batch(people(2, age=[300, 301])))
    answer, stats = client.get("/metrics"), stage.anonymizer.stats
    told = metrics(answer.text)
    assert answer.headers["content-type"].startswith("text/plain; version=")
    reason = "'age': outside [0, 100] (value withheld); widen the range or set out_of_range: clip"
    expected = {
        "shoal_up": 1, "shoal_received_total": 902, f"shoal_rejected_total|{reason}": 2,
        "shoal_released_total|cluster": stats.clustered, "shoal_released_total|reuse": stats.reused,
        "shoal_released_total|suppressed": stats.suppressed, "shoal_groups_total": stats.groups,
        "shoal_loss_count": stats.released, "shoal_loss_sum": stats.loss * stats.released,
        "shoal_wait_arrivals_count": stats.released, "shoal_wait_arrivals_bucket|200": stats.released,
        "shoal_deadline_arrivals": 200, "shoal_group_size_count": stats.groups, "shoal_k": 5,
        "shoal_smallest_group": stats.smallest_group, "shoal_held": stats.held,
        "shoal_checkpoints_total": 1, "shoal_checkpoint_bytes": 4096, "shoal_source_lag": 12,
    }  # fmt: skip
    assert {name: told.get(name) for name in expected} == expected
    assert 0 <= told["shoal_checkpoint_age_seconds"] < 60


def test_health(stage: Stage) -> None:
    fresh = Telemetry(policy())
    with TestClient(page(fresh), base_url="http://localhost") as client:
        assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 503]
        fresh.started()
        assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [200, 200]
        fresh.stopped("the source closed")
        assert [client.get(path).text for path in ("/healthz", "/readyz")] == ["stopped\n", "stopped\n"]
        assert [client.get(path).status_code for path in ("/healthz", "/readyz")] == [503, 503]


@pytest.mark.parametrize("path", ["/", "/api/snapshot", "/metrics", "/healthz", "/nothing", "/icon.svg"])
def test_every_answer_forbids_what_is_foreign(client: TestClient, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "img-src", "connect-src", "font-src")} == {"'self'"}
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_on_loopback_the_host_must_be_loopback(client: TestClient) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example", "[", ""):
        answer = client.get("/api/snapshot", headers={"host": host})
        assert (answer.status_code, answer.text) == (421, "this page is served on loopback; ask for it as localhost\n")
    for host in ("localhost:8080", "127.0.0.1:9", "[::1]:80"):
        assert client.get("/api/snapshot", headers={"host": host}).status_code == 200


def test_without_the_token_only_health_is_told(locked: TestClient) -> None:
    for path in ("/api/snapshot", "/api/events", "/metrics", "/openapi.json", "/assets/x.js"):
        answer = locked.get(path)
        assert (answer.status_code, answer.json()) == (401, {"detail": "the token is missing or wrong"})
    assert locked.get("/healthz").status_code == 200
    front = locked.get("/")
    assert front.status_code == 401 and '<form method="post" action="/login">' in front.text


def test_the_token_opens(locked: TestClient) -> None:
    assert locked.get("/metrics", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert locked.get("/metrics", headers={"authorization": f"Bearer {TOKEN}x"}).status_code == 401
    assert locked.post("/login", data={"token": "wrong"}).status_code == 401
    assert locked.post("/login", content=b"token=" + b"x" * 5000).status_code == 413
    answer = locked.post("/login", data={"token": TOKEN})
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie and TOKEN not in cookie
    assert locked.get("/api/snapshot").status_code == 200


def test_a_host_beyond_loopback_needs_a_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SHOAL_TOKEN", raising=False)
    assert token_for("127.0.0.1") is None
    said = "--host 0.0.0.0: is not loopback; set SHOAL_TOKEN, or name a file with --token-file"
    for ask in (lambda: token_for("0.0.0.0"), lambda: serve(Telemetry(policy()), "0.0.0.0", 0).__enter__()):
        with pytest.raises(InputError) as caught:
            ask()
        assert str(caught.value) == said
    monkeypatch.setenv("SHOAL_TOKEN", "short")
    with pytest.raises(InputError) as caught:
        token_for("0.0.0.0")
    assert str(caught.value) == "the page's token: is not 16 or more plain characters; draw one with `openssl rand -hex 16`"
    (tmp_path / "token").write_text(f"{TOKEN}\n")
    assert token_for("0.0.0.0", str(tmp_path / "token")) == TOKEN
    (tmp_path / "empty").touch()
    for host in ("0.0.0.0", "127.0.0.1"):  # with a token file the page is locked
        with pytest.raises(InputError, match="empty: is empty; write the page's token into it"):
            token_for(host, str(tmp_path / "empty"))
    with pytest.raises(InputError, match="cannot be read; name a file that holds the page's token"):
        token_for("0.0.0.0", str(tmp_path / "none"))


def test_a_port_that_is_taken() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError) as caught, serve(Telemetry(policy()), port=port):
            pass
    assert str(caught.value) == f"port {port}: cannot be used (address already in use); give another, or 0 for any that is free"


@pytest.mark.slow
def test_events_come_several_times_a_second_until_the_server_ends() -> None:
    told = []
    with playing() as stage:
        with serve(stage.telemetry, port=0) as address, httpx.stream("GET", f"{address}api/events", timeout=20) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            lines = answer.iter_lines()
            for line in lines:
                if line.startswith("data: "):
                    told.append(json.loads(line[6:]))
                    if len(told) == 6:
                        break
            stage.stop("the source closed")
            told += [json.loads(line[6:]) for line in _until_stopped(lines)]
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{address}healthz")
    assert told[5]["uptime"] - told[0]["uptime"] < 5
    received = [each["totals"].get("received", 0) for each in told]
    assert received == sorted(received) and received[5] > received[0]
    ends = [each["history"]["first"] + len(each["history"]["rows"]) for each in told]
    assert [each["history"]["first"] for each in told[1:]] == ends[:-1]
    assert (told[-1]["state"], told[-1]["reason"]) == ("stopped", "the source closed")


def _until_stopped(lines: Iterator[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith("data: "):
            yield line
            if '"state":"stopped"' in line:
                return


def test_nothing_foreign_and_nothing_inline_is_in_what_ships() -> None:
    entries = [(STATIC / name).read_text() for name in ("index.html", "lab.html")]
    for name in ("index.html", "lab.html", "login.html"):
        text = (STATIC / name).read_text()
        assert "http" not in text and "style=" not in text and "<style" not in text and "onclick" not in text
        assert text.count("<script") == text.count('<script type="module" crossorigin src="/assets/')
    named = {part.split('"')[0] for entry in entries for part in entry.split('"/assets/')[1:]}
    assert sorted(named) == sorted(path.name for path in (STATIC / "assets").iterdir())


RIGHT, WRONG = schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE


@pytest.mark.parametrize(
    ("path", "mode"),
    [
        ("/api/snapshot", RIGHT),
        ("/api/snapshot", WRONG),
        ("/api/history", RIGHT),
        ("/api/history", WRONG),
        ("/metrics", RIGHT),
        ("/healthz", RIGHT),
        ("/readyz", RIGHT),
    ],
)
def test_the_description_holds(stage: Stage, path: str, mode: schemathesis.GenerationMode) -> None:
    """Whatever is sent, the answer is one that the description tells of, and none is a fault of the server."""
    described = schemathesis.openapi.from_asgi("/openapi.json", page(stage.telemetry), headers={"host": "localhost"})
    operations = {result.ok().path: result.ok() for result in described.get_all_operations()}
    described_paths = {"/api/snapshot", "/api/history", "/api/events", "/grafana.json", "/alerts.yaml"}
    assert set(operations) == {*described_paths, "/metrics", "/healthz", "/readyz"}

    @given(operations[path].as_strategy(generation_mode=mode))
    @examples(0.1)
    def answered(case: schemathesis.Case) -> None:
        case.call_and_validate(headers={"host": "localhost"})

    answered()


def test_the_board_asks_for_metrics_that_there_are(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "sixteen bytes or more")
    board = json.loads((Path(__file__).parents[2] / "deploy" / "monitoring" / "grafana.json").read_text())
    targets = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    asked = {name for target in targets for name in re.findall(r"shoal_\w+", target)}
    stage.telemetry.checkpointed(0.1, 1)
    stage.telemetry.lag(0)
    filtered = Policy.parse(FILTER)
    anonymizer, observed = Anonymizer(filtered), Telemetry(filtered)
    batch = pa.record_batch({"t": [1.0] * 9, "user": list("abcdefghi"), "site": ["s"] * 9, "note": ["n"] * 9})
    observed.after(anonymizer, anonymizer.push_batch(batch))
    timed = Telemetry(Policy.parse(f"time: {{field: t}}\n{POLICY.replace('count: 200', 'time: 10s')}"))
    told = {
        name
        for telemetry in (stage.telemetry, observed, timed)
        for family in registry(telemetry).collect()
        for name in (family.name, f"{family.name}_total", *(sample.name for sample in family.samples))
    }
    assert len(asked) > 20 and asked - told == set()


def test_the_board_and_the_rules_are_linked_and_served(client: TestClient, locked: TestClient) -> None:
    for path, first in (("/grafana.json", "{"), ("/alerts.yaml", "# Alert rules")):
        assert f'href="{path}"' in client.get("/").text
        answer = client.get(path)
        assert answer.status_code == 200 and answer.text.startswith(first)
        assert locked.get(path).status_code == 401


def test_hour_and_day(client: TestClient) -> None:
    for span, step in (("hour", 10), ("day", 240)):
        told = client.get("/api/history", params={"span": span}).json()
        assert told["step"] == step and "wait" in told["names"]
    assert client.get("/api/history", params={"span": "week"}).status_code == 422


def test_records_as_they_came_are_only_shown_of_a_generated_stream(stage: Stage) -> None:
    with TestClient(page(stage.telemetry), base_url="http://localhost") as client:
        assert client.get("/api/shoal").status_code == 404
    with TestClient(page(stage.telemetry, shoal=lambda since: {"groups": [since]}), base_url="http://localhost") as client:
        assert client.get("/api/shoal", params={"since": 3}).json() == {"groups": [3]}
