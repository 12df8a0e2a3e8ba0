"""What the lab's server gives, and how it guards it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import given

from shoal import Policy
from shoal.lab import Lab
from shoal.web import lab_app
from tests.examples import examples
from tests.lab.base import people

TOKEN = "0123456789abcdef"
PATHS = (
    "/api/lab", "/api/sample", "/api/reading", "/api/hierarchy", "/api/draft", "/api/propose", "/api/check", "/api/trial",
    "/api/document/{page}", "/api/session", "/api/open", "/api/blocks", "/api/columns", "/api/variations", "/api/point",
    "/api/across", "/api/anonymized", "/api/risk", "/api/compare/{algorithm}",
    "/api/chances", "/api/policy", "/api/save", "/api/report", "/api/calls",
    "/api/built", "/api/written-out", "/api/lacking", "/api/assessment",
)  # fmt: skip


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with Lab(people(tmp_path), save=tmp_path / "policy.yaml") as found:
        yield found


@pytest.fixture
def client(lab: Lab) -> Iterator[TestClient]:
    with TestClient(lab_app(lab), base_url="http://localhost", raise_server_exceptions=False) as found:
        yield found


def test_every_path_calls_the_lab(client: TestClient, tmp_path: Path) -> None:
    form = {**client.get("/api/draft").json(), "algorithm": "fads", "k": "5", "window": "100"}
    ask = {path: client.post(path, json=form) for path in ("/api/check", "/api/trial", "/api/risk", "/api/calls", "/api/save")}
    assert {path: answer.status_code for path, answer in ask.items()} == dict.fromkeys(ask, 200)
    assert ask["/api/trial"].json()["smallest"] >= 5 and ask["/api/risk"].json()["held"]
    assert client.post("/api/policy", json=form).text == (tmp_path / "policy.yaml").read_text()
    assert Policy.load(tmp_path / "policy.yaml").privacy.k == 5
    assert client.post("/api/report", json=form).text.startswith("<!doctype html>")
    assert "<h1>Data protection impact assessment</h1>" in client.post("/api/assessment", json=form).text
    assert client.post("/api/compare/fads", json=form).json()["windows"]
    assert client.post("/api/propose", json={"name": "age", "role": "numeric"}).json()["low"] == "15"
    assert client.post("/api/chances", json=form).json()["problems"][0].startswith("time: is not named")


def test_a_file_is_handed_over(client: TestClient, lab: Lab, tmp_path: Path) -> None:
    data = b"a,b\n" + b"1,2\n" * 50
    answer = client.post("/api/sample", params={"name": "new.csv"}, content=data)
    assert (answer.status_code, answer.json()["sample"]["fields"]) == (200, ["a", "b"])
    refused = {"new.exe": "unknown kind", "../x.csv\0": "not plain text", "new.parquet": "new.parquet: is not a Parquet file"}
    for name, says in refused.items():
        answer = client.post("/api/sample", params={"name": name}, content=data)
        assert answer.status_code == 400 and says in answer.json()["detail"], answer.text
    assert lab.state()["sample"]["name"] == "new.csv"
    assert len(list(lab.folder.iterdir())) == 1


def test_a_hierarchy_comes_from_a_file(client: TestClient) -> None:
    lines = "Paris;France;any\nLyon;France;any\nOslo;Norway;any\n"
    found = client.post("/api/hierarchy", params={"name": "city.csv"}, content=lines)
    assert found.text == "any\n  France\n    Paris\n    Lyon\n  Norway\n    Oslo\n"
    wrong = client.post("/api/hierarchy", params={"name": "city.csv"}, content="Paris;France\nOslo;Norway")
    assert wrong.status_code == 400 and wrong.json()["detail"].startswith("city.csv, line 2: the root is")


def test_a_hierarchy_is_built_by_a_rule_and_completed(client: TestClient) -> None:
    rule = {"name": "prefix", "levels": "1", "range": "", "by": ""}
    found = client.post("/api/built", json={"name": "city", "rule": rule}).json()
    assert found["tree"].splitlines()[:3] == ["any", "  B*", "    Bergen"]
    assert client.post("/api/written-out", json={"builder": "{ready: education}"}).text.startswith("any")
    entry = {"name": "city", "role": "categorical", "tree": "any\n  Oslo\n"}
    assert client.post("/api/lacking", json=entry).json() == {"values": ["Bergen", "Lyon", "Paris"], "rare": 0}


def test_problems_are_told_without_a_fault(client: TestClient) -> None:
    form = {**client.get("/api/draft").json(), "k": "many"}
    answer = client.post("/api/trial", json=form)
    assert (answer.status_code, answer.json()["problems"]) == (400, ["privacy.k: is not a number; write one, without quotes"])


def test_other_pages_cannot_ask(client: TestClient) -> None:
    for origin in ("http://evil.example", "null", "http://localhost:1"):
        answer = client.post("/api/sample", params={"name": "a.csv"}, content=b"a\n1\n", headers={"origin": origin})
        assert answer.status_code == 403
    assert client.get("/api/lab", headers={"host": "evil.example"}).status_code == 421
    own = client.post("/api/sample", params={"name": "a.csv"}, content=b"a\n1\n", headers={"origin": "http://localhost"})
    assert own.status_code == 200
    assert client.get("/api/lab").headers["content-security-policy"].startswith("default-src 'none'")


def test_bodies_are_bounded(client: TestClient) -> None:
    assert client.post("/api/check", content=b" " * (17 << 20)).status_code == 413
    assert client.post("/api/check", content=iter([b"{}"])).status_code == 411
    both = {"content-length": "2", "transfer-encoding": "chunked"}
    assert client.post("/api/check", content=iter([b"{}"]), headers=both).status_code == 411


def test_elsewhere_the_token_is_needed(lab: Lab) -> None:
    with TestClient(lab_app(lab, TOKEN), base_url="http://lab.example") as client:
        for path in ("/api/lab", "/api/draft", "/openapi.json"):
            assert client.get(path).status_code == 401
        assert client.post("/api/trial", json={}).status_code == 401
        assert client.get("/api/lab", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
@pytest.mark.parametrize("path", PATHS)
def test_the_description_holds(lab: Lab, path: str, mode: schemathesis.GenerationMode) -> None:
    """Whatever is sent, the answer is one that the description tells of, and none is a fault of the server."""
    described = schemathesis.openapi.from_asgi("/openapi.json", lab_app(lab), headers={"host": "localhost"})
    operations = {result.ok().path: result.ok() for result in described.get_all_operations()}
    assert set(operations) == set(PATHS)
    if path in ("/api/lab", "/api/draft") and mode == schemathesis.GenerationMode.NEGATIVE:
        return  # nothing to get wrong

    @given(operations[path].as_strategy(generation_mode=mode))
    @examples(0.05)
    def answered(case: schemathesis.Case) -> None:
        answer = case.call(headers={"host": "localhost"})
        assert answer.status_code < 500, answer.text
        if answer.status_code == 413:
            return  # too large to be looked at, whatever it says
        case.validate_response(answer, excluded_checks=[schemathesis.checks.CHECKS.get_one("positive_data_acceptance")])

    answered()
