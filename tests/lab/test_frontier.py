"""Columns, dots of risk against loss, existing policies, and the settings beside them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import shoal
from shoal.errors import InputError, PolicyError
from shoal.lab import Lab
from shoal.web import lab_app
from tests.lab.base import people, returning
from tests.lab.test_lab import changed, fads

ROOT = Path(__file__).parents[2]


def test_columns_say_how_identifying_they_are(tmp_path: Path) -> None:
    path = tmp_path / "few.csv"
    path.write_text("pid,age,city,empty\n" + "".join(f"p{n},{n},{'ab'[n % 2]},\n" for n in range(40)))
    with Lab(path) as lab:
        form = changed(lab.draft(), "age", role="omit")
        plain = {column["name"]: column for column in lab.columns(changed(form, "city", role="omit"))}
        with_city = {column["name"]: column for column in lab.columns(changed(form, "city", role="categorical"))}
    assert [plain[name]["alone"] for name in ("pid", "age", "city", "empty")] == [1, 1, 0, 0]
    assert (plain["city"]["distinct"], plain["city"]["type"], plain["age"]["type"]) == (2, "text", "whole numbers")
    assert (plain["empty"]["missing"], plain["empty"]["type"]) == (1, "empty")
    assert plain["city"]["bars"] == {"edges": [], "labels": ["a", "b"], "before": [20, 20]}
    assert sum(plain["age"]["bars"]["before"]) == 40
    assert (plain["city"]["together"], with_city["age"]["together"], with_city["city"]["together"]) == (0, 1, 0)


@pytest.mark.parametrize("values", [["100000000000000000"] * 2, ["1e308", "-1e308"]])
def test_numbers_without_bars_are_counted_one_by_one(tmp_path: Path, values: list[str]) -> None:
    path = tmp_path / "few.csv"
    path.write_text("pid,x\n" + "".join(f"p{n},{value}\n" for n, value in enumerate(values)))
    with Lab(path) as lab:
        bars = next(column["bars"] for column in lab.columns(lab.draft()) if column["name"] == "x")
    assert (sum(bars["before"]), bars["edges"]) == (2, [])


def test_bars_hold_equally_many_whole_numbers_and_times_have_bars_of_their_own(tmp_path: Path) -> None:
    """Nineteen whole numbers in sixteen bars of one width would look like spikes."""
    path = tmp_path / "even.csv"
    lines = (f"p{n},{n % 19},{n % 19 + 0.5},2025-03-{1 + n % 16:02}T10:00:00Z\n" for n in range(304))
    path.write_text("pid,level,half,day\n" + "".join(lines))
    with Lab(path) as lab:
        found = {column["name"]: column["bars"] for column in lab.columns(lab.draft())}
    assert found["level"]["before"] == [32] * 9 + [16]
    assert found["level"]["edges"] == [2 * n - 0.5 for n in range(11)]
    assert max(found["half"]["before"]) == 2 * min(found["half"]["before"])
    assert found["day"]["before"] == [19] * 16
    assert found["day"]["labels"][0] == "from 2025-03-01T10:00:00"


def test_persons_who_come_back_count_once(tmp_path: Path) -> None:
    path = tmp_path / "twice.csv"
    path.write_text("pid,code\n" + "".join(f"p{n % 30},{n % 30 if n % 30 < 3 else 99}\n" for n in range(60)))
    with Lab(path) as lab:
        found = {column["name"]: column["alone"] for column in lab.columns(lab.draft().model_copy(update={"person": "pid"}))}
    assert found["code"] == pytest.approx(3 / 30)


def test_distributions_before_and_after(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        fine = lab.trial(fads(lab))["distributions"]
        coarse = lab.trial(fads(lab).model_copy(update={"k": "80"}))["distributions"]

    def off(found: dict[str, tuple[float, ...]]) -> float:
        return sum(abs(a - b) for a, b in zip(found["before"], found["after"], strict=True)) / sum(found["before"])

    assert fine["city"]["labels"] and sum(fine["city"]["before"]) == sum(fine["age"]["before"]) == 600
    assert sum(fine["age"]["after"]) == pytest.approx(600, rel=0.01)
    assert off(fine["age"]) < off(coarse["age"])


def test_a_dot_is_the_audit_of_a_trial(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        form = changed(fads(lab), "disease", role="sensitive")
        few, many = lab.point(form), lab.point(form.model_copy(update={"k": "40"}))
        tried, risk = lab.trial(form), lab.risk(form)
        with pytest.raises(PolicyError, match="choose an algorithm that has k"):
            lab.point(form.model_copy(update={"algorithm": "zanon", "time": "age", "item": "city"}))
    assert few["loss"] == pytest.approx(tried["loss"]) and few["loss"] < many["loss"]
    assert {key: value for key, value in few.items() if key != "wait"} == risk["point"]
    gain = {each["name"]: (each["gain"], each["success"], each["chance"]) for each in few["attacks"]}
    assert (
        gain["linkage"][0] == gain["linkage"][1] > next(each["gain"] for each in many["attacks"] if each["name"] == "linkage")
    )
    found, success, chance = gain["inference (disease)"]
    assert found == max(0, success - chance)


def test_a_sweep_varies_what_can_be_varied(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        form = changed(fads(lab), "disease", role="sensitive")
        found = lab.variations(form)
        with pytest.raises(PolicyError):
            lab.variations(form.model_copy(update={"k": "0"}))
    keys = {key for change in found for key in change}
    assert keys == {"k", "window", "nulls_match", "generalize", "l", "algorithm"}
    assert {change["k"] for change in found if "k" in change} >= {"2", "5", "10", "20"}
    assert {"generalize": "set"} in found and {"generalize": "node"} not in found
    assert len({tuple(change.items()) for change in found}) == len(found)


def test_controls_are_written_to_the_policy(tmp_path: Path) -> None:
    with Lab(returning(tmp_path)) as lab:
        blocks = lab.blocks("illness", "pid", 3)
        form = changed(fads(lab), "illness", role="sensitive", stable=True, shown="block", blocks=blocks["blocks"])
        form = changed(
            changed(form, "place", role="categorical", tree="any\n n\n s\n e\n w", generalize="set", most="3"),
            "age",
            weight="2",
        )
        privacy = {"l": "2", "t": "0.6", "across": "3", "nulls_match": "root", "accept": {"linkage": "20%"}}
        form = form.model_copy(update={**privacy, "suppressed": "drop"})
        policy = shoal.Policy.parse(lab.policy(form))
        wrong = lab.check(form.model_copy(update={"accept": {"linkage": "many"}}))
    assert (policy.privacy.across, policy.privacy.nulls_match, policy.suppressed) == (3, "root", "drop")
    assert (policy.privacy.accept["linkage"], policy.weights) == (0.2, {"age": 2})
    assert min(map(len, policy.blocks["illness"].values)) >= 3
    assert "generalize: {set: {most: 3}}" in lab.policy(form)
    assert [(each.part, each.stops) for each in wrong] == [("privacy.accept", True)]


def test_the_attack_on_who_comes_back_before_and_after(tmp_path: Path) -> None:
    with Lab(returning(tmp_path)) as lab:
        form = changed(fads(lab), "illness", role="sensitive", stable=True, shown="exact")
        assert lab.across(changed(form, "illness", stable=False)) == []
        blocks = lab.blocks("illness", "pid", 3)["blocks"]
        hidden = changed(form, "illness", shown="block", blocks=blocks).model_copy(update={"across": "3"})
        found = lab.across(hidden)[0]
        with pytest.raises(InputError, match="fewer than 9"):
            lab.blocks("illness", "pid", 9)
    assert found["field"] == "illness" and found["before"]["success"] > 0.8 > 0.6 > found["after"]["success"]


def test_bags_are_judged_in_a_trial(tmp_path: Path) -> None:
    with Lab(returning(tmp_path)) as lab:
        form = changed(fads(lab), "illness", role="sensitive", stable=True, shown="bag")
        more = form.model_copy(update={"more": "attributes: {illness: {bag: 200}}"})
        risk, rows = lab.risk(more), lab.trial(more)["rows"]
    assert rows["bags"] == ["illness"] and rows["gone"] == ["pid"]
    assert risk["held"] and all(each["verdict"] != "not checkable" for each in risk["promises"])


POLICIES = {
    "small": "person: pid\nattributes: {age: {quasi: numeric, range: [0, 100]}}\nprivacy: {k: 5}\nwindow: {count: 100}\n",
    "many": """
        version: 1
        person: none
        time: {field: ts, publish: generalize, grid: 60}
        nulls: {age: ["", NA]}
        attributes:
          age: {quasi: numeric, range: [0.5, 100], grid: 5, out_of_range: clip}
          city: {quasi: categorical, unknown: root, generalize: {set: {most: 4}}, hierarchy: {any: {N: [a, b], S: [c, d]}}}
          area: {quasi: categorical, generalize: {set: {min_support: 2}}, values: [x, y]}
          land: {quasi: categorical, hierarchy: {ready: countries}}
          ill: {sensitive: true, stable: true, as: block, blocks: [[flu, "cold, mild"], [gout, acne]], l: 2}
          gift: {sensitive: true, because: "agreed"}
          note: {publish: keep}
          memo: {publish: {keep: true, because: "agreed"}}
        privacy: {k: 5, t: 0.4, across: 2, nulls_match: maybe, min_support: 2, accept: {linkage: 0.2}}
        window: {time: 30s}
        weights: {age: 2}
        suppressed: publish
        lanes: 2
        algorithm: {name: fads, reuse_limit: 3, reuse_age: 30s}
    """,
    "transactions": """
        person: user
        time: {field: t}
        item: {field: site}
        algorithm: {name: zanon, z: 3, window: 1h, withheld: blank}
    """,
}


@pytest.mark.parametrize("name", POLICIES)
def test_an_existing_policy_is_opened_and_stays_what_it_is(tmp_path: Path, name: str) -> None:
    with Lab(people(tmp_path)) as lab:
        form = lab.open_policy(POLICIES[name].encode(), "policy.yaml")
        again = lab.open_policy(lab.policy(form).encode(), "policy.yaml")
        written = lab.policy(form)
    assert shoal.Policy.parse(written) == shoal.Policy.parse(POLICIES[name])
    assert lab.policy(again) == written
    if name == "many":
        assert (form.kind, form.window, form.across, form.t, form.suppressed) == ("time", "30s", "2", "0.4", "publish")
        assert "reuse_limit: 3" in form.more and "min_support" in form.more


def test_what_is_no_policy_is_refused(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        with pytest.raises(PolicyError, match="the policy: is not a mapping"):
            lab.open_policy(b"- a\n- b", "policy.yaml")
        with pytest.raises(PolicyError, match=r"policy\.yaml: is not UTF-8"):
            lab.open_policy(b"\xff\xfe", "policy.yaml")
        odd = lab.open_policy(b"privacy: 3\nattributes: [age]\ntime: now\n", "policy.yaml")
        assert any(message.stops for message in lab.check(odd))


def test_a_policy_says_nothing_of_a_field_that_is_not_so(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        form = lab.draft()
        assert "# 4 categories." in lab.policy(form)
        assert "left out" not in lab.policy(changed(form, "disease", role="sensitive"))
        assert "categories" not in lab.policy(changed(form, "city", tree="any\n  Paris\n  Oslo"))


def test_the_anonymized_sample_is_what_a_run_writes(tmp_path: Path) -> None:
    source = people(tmp_path)
    with Lab(source) as lab:
        form = fads(lab)
        (tmp_path / "policy.yaml").write_text(lab.policy(form))
        found = lab.anonymized(form)
    shoal.run(tmp_path / "policy.yaml", source, tmp_path / "out.csv")
    assert found == (tmp_path / "out.csv").read_text()


def test_a_session_is_kept_until_another_file_comes(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        client = TestClient(lab_app(lab), base_url="http://localhost")
        assert client.get("/api/session").json() == {}
        kept = {"opened": client.get("/api/lab").json()["sample"]["opened"], "sheet": {"k": "7"}}
        assert client.post("/api/session", json=kept).status_code == 204
        assert client.get("/api/session").json() == kept
        lab.receive("other.csv", [b"a,b\n" + b"1,2\n" * 50])
        assert client.get("/api/session").json() == {}
        client.post("/api/session", json=kept)  # it was on its way when the file came
        assert client.get("/api/session").json() == {}


def test_every_question_mark_leads_to_a_section_of_the_documents(tmp_path: Path) -> None:
    source = (ROOT / "web/src/lab/help.ts").read_text()
    pages = re.findall(r'^  (\w+): \["([a-z-]+)", "(.+)"\],$', source, re.M)
    used = {term for path in (ROOT / "web/src/lab").glob("*.ts") for term in re.findall(r'help\("(\w+)"\)', path.read_text())}
    assert len(pages) > 15 and used <= {term for term, _, _ in pages}
    with Lab(people(tmp_path)) as lab:
        client = TestClient(lab_app(lab), base_url="http://localhost")
        for term, page, heading in pages:
            text = client.get(f"/api/document/{page}").text
            assert re.search(rf"^#+ {re.escape(heading)}$", text, re.M), (term, page, heading)
        assert client.get("/api/document/nothing").status_code == 404
        assert client.get("/api/document/..%2Fpyproject").status_code in (404, 422)
