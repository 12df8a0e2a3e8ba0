"""The report as a document to sign: what was judged, purpose, answers in words, recommendations and their price."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from shoal import Policy, run
from shoal.audit import Price, WindowReport, audit, worst
from shoal.cli.judgement import in_lines, in_tables
from shoal.lab import prices

POLICY = """
about: {purpose: to plan wards, recipients: [hospital, health office], controller: Example clinic, contact: privacy@example.org}
person: pid
attributes:
  age: {quasi: numeric, range: [0, 100], grid: 10}
  illness: {sensitive: true}
privacy: {k: 2, accept: {homogeneity: 5%}}
window: {count: 10}
algorithm: {name: fads}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Persons of whom each pair of neighbours in age has one illness, so that classes reveal it."""
    made = tmp_path_factory.mktemp("document")
    (made / "policy.yaml").write_text(POLICY)
    people = [{"pid": i, "age": 20 * (i // 2 % 5) + 3 + 4 * (i % 2), "illness": f"zq{i // 2 % 5 % 3}"} for i in range(400)]
    (made / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in people))
    run(made / "policy.yaml", made / "in.jsonl", made / "out.jsonl", trace=made / "trace.jsonl")
    return made


@pytest.fixture(scope="module")
def report(folder: Path) -> WindowReport:
    names = ("policy.yaml", "in.jsonl", "out.jsonl", "trace.jsonl")
    found = audit(*(str(folder / name) for name in names), by="A. Auditor")
    assert isinstance(found, WindowReport)
    return found


def words(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page)).replace("\u00a0", " ")


def test_the_record_names_every_file_with_its_size_and_digest(report: WindowReport, folder: Path) -> None:
    assert report.record
    assert report.record.by == "A. Auditor"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", report.record.made)
    assert {each.role: each.name for each in report.record.files} == {
        "input": "in.jsonl", "output": "out.jsonl", "trace": "trace.jsonl", "policy": "policy.yaml",
    }  # fmt: skip
    page, twin = report.to_html(), json.loads(report.to_json())
    for each, written in zip(report.record.files, twin["record"]["files"], strict=True):
        content = (folder / each.name).read_bytes()
        assert (each.bytes, each.sha256) == (len(content), hashlib.sha256(content).hexdigest())
        assert written["sha256"] == each.sha256
        assert str(each.sha256) in page
    assert str(folder) not in page + report.to_json()


def test_tables_in_memory_have_no_digest() -> None:
    import pyarrow as pa

    policy = Policy.parse(POLICY)
    people = pa.table({"pid": [1, 2], "age": [31, 38], "illness": ["a", "b"]})
    out = pa.table({"age": [[30, 40], [30, 40]], "illness": ["a", "b"]})
    found = audit(policy, people, out)
    assert found.record
    assert [(each.role, each.sha256) for each in found.record.files] == [("input", None), ("output", None)]


def test_purpose_and_recipients_stand_in_both_forms(report: WindowReport) -> None:
    page, twin = words(report.to_html()), json.loads(report.to_json())
    assert twin["about"] == {
        "purpose": "to plan wards", "recipients": ["hospital", "health office"], "controller": "Example clinic",
        "contact": "privacy@example.org",
    }  # fmt: skip
    for text in ("to plan wards", "hospital, health office", "Accepted by Example clinic.", "privacy@example.org", "Sign-off"):
        assert text in page
    bare = re.sub(r"(?m)^about.*\n", "", POLICY)
    assert Policy.parse(bare).fingerprint == report.policy.fingerprint


def test_the_answers_are_in_plain_words(report: WindowReport) -> None:
    twin = json.loads(report.to_json())
    assert tuple(twin["in_words"].values()) == report.answers
    first, second, third = report.answers
    assert first.startswith("Yes. All ") and first.endswith(" promises were checked, and kept.")
    assert "The worst, homogeneity (illness), tries to infer a value of a person: it is right in 100.0 %" in second
    assert third.startswith("400 rows are published of 400 accepted records.")
    for answer in report.answers:
        assert answer in words(report.to_html())


def test_homogeneity_recommends_l_and_its_price_is_measured(report: WindowReport, folder: Path) -> None:
    (first, *_) = report.advice
    assert (first.about, first.do, first.price) == ("homogeneity (illness)", "set l: 2 on illness", None)
    assert first.because == "100.0 % of the rows reveal illness, since their class shows one value of it"
    assert first.change == {"attributes": {"illness": {"l": 2}}}
    measured = prices(report, str(folder / "policy.yaml"), str(folder / "in.jsonl"))
    price = measured[first.about]
    assert (price.rows, price.success_before, price.success_after) == (400, 1.0, 0.0)
    assert price.loss_after > price.loss_before == pytest.approx(report.figures.utility.loss.mean)
    priced = replace(report, prices=measured)
    assert priced.advice[0].cost.startswith("on the first 400 records: ")
    assert "the attack is right in 0 %, before in 100.0 %" in words(priced.to_html())
    assert json.loads(priced.to_json())["recommendations"][0]["price"]["rows"] == 400
    assert "shoal audit --price measures it" in words(report.to_html())
    assert "shoal audit --price measures it" not in words(priced.to_html())


def test_the_price_of_blocks_is_measured_on_drafted_ones(tmp_path: Path) -> None:
    """Persons come back with one of eight illnesses: links reveal it, and one recommendation is enough for both attacks."""
    (tmp_path / "policy.yaml").write_text(POLICY.replace(", accept: {homogeneity: 5%}", "").replace("about:", "# about:"))
    people = [{"pid": i % 160, "age": (i * 37) % 90, "illness": f"zq{i % 8}"} for i in range(2400)]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in people))
    names = [str(tmp_path / name) for name in ("policy.yaml", "in.jsonl", "out.jsonl", "trace.jsonl")]
    run(*names[:3], trace=names[3])
    found = audit(*names)
    assert isinstance(found, WindowReport)
    (blocks,) = [each for each in found.advice if each.blocks_of]
    assert blocks.blocks_of == "illness" and "shoal blocks drafts the blocks" in blocks.do
    price = prices(found, *names[:2])[blocks.about]
    assert price.kept == pytest.approx(0.3181, abs=1e-4)  # blocks of three and five: 0.954 bits of 3
    assert price.success_before is not None and price.success_before > 0.5
    assert price.success_after is None or price.success_after < price.success_before
    priced = replace(found, prices={blocks.about: price})
    assert "the drafted blocks keep 31.8 % of the information" in words(priced.to_html())


def test_a_price_in_words() -> None:
    from shoal.audit.advice import _in_words

    assert _in_words(Price(20000, 0.25, 0.2, 100, 100, 0.5, None)) == (
        "on the first 20,000 records: 20.0 % less loss (0.250, then 0.200); the attack finds nothing left to try"
    )


def test_a_broken_promise_recommends_to_stop(folder: Path) -> None:
    spoiled = folder / "spoiled.jsonl"
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    spoiled.write_text("".join(json.dumps({**row, "pid": 7}) + "\n" for row in rows))
    found = audit(str(folder / "policy.yaml"), str(folder / "in.jsonl"), str(spoiled), str(folder / "trace.jsonl"))
    assert found.advice[0].about == "silent"
    assert found.advice[0].do.startswith("do not publish this output")


def test_nothing_is_recommended_that_the_policy_has_already(folder: Path) -> None:
    """Nulls are blurred by default; a row that lost its age is alone all the same."""
    spoiled = folder / "alone.jsonl"
    rows = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    spoiled.write_text("".join(json.dumps({**row, "age": row["age"] if n else None}) + "\n" for n, row in enumerate(rows)))
    found = audit(str(folder / "policy.yaml"), str(folder / "in.jsonl"), str(spoiled), str(folder / "trace.jsonl"))
    assert "below k" in [each.label for each in found.exposures if each.is_worse]
    told = {each.about: each.do for each in found.advice}
    assert "do not publish this output" in next(iter(told.values()))
    assert told["below k"].startswith("decide whether this is acceptable for these recipients")
    assert not any("nulls_match" in do for do in told.values())


@pytest.mark.parametrize("width", [80, 120])
def test_a_terminal_shows_the_verdict_first_and_the_worst_attack_on_one_screen(report: WindowReport, width: int) -> None:
    written = StringIO()
    in_tables(report, "out.jsonl", Console(file=written, width=width))
    told = written.getvalue().splitlines()
    assert told[0].startswith("AMBER  out.jsonl: k = 2 holds")
    first = worst(report)
    assert first and first.label == "homogeneity (illness)"
    place = next(n for n, line in enumerate(told) if line.startswith("Worst attack: homogeneity (illness): right in 100.0 %"))
    assert place < 8
    assert 20 <= len(told) <= 40
    assert any(line.startswith("Recommended: 100.0 % of the rows reveal illness") for line in told)


def test_a_pipe_gets_every_recommendation(report: WindowReport) -> None:
    written = StringIO()
    in_lines(report, "out.jsonl", Console(file=written, width=300))
    told = [line for line in written.getvalue().splitlines() if line.startswith("recommended: ")]
    assert len(told) == len(report.advice) > 0


def test_the_twin_carries_fields_limits_and_the_impact_assessment(report: WindowReport) -> None:
    page, twin = words(report.to_html()), json.loads(report.to_json())
    assert twin["fields"][0] == {"name": "age", "role": "numeric", "how": "range 0 to 100, grid 10"}
    assert [each["what"] for each in twin["not_protected"]] == [name for name, _ in report.limits]
    assert all(each["says"] in page for each in twin["not_protected"])
    assert [part["key"] for part in twin["assessment"]] == ["processing", "necessity", "risks", "measures", "review"]


def test_an_impact_assessment_is_filled_from_policy_and_audit(report: WindowReport) -> None:
    page, twin = words(report.to_assessment()), json.loads(report.to_json())
    entries = {each["topic"]: each for part in twin["assessment"] for each in part["entries"]}
    assert (entries["Purpose"]["text"], entries["Purpose"]["source"]) == ("to plan wards", "policy")
    assert entries["Recipients"]["text"] == "hospital, health office"
    assert entries["Fields that are read"]["text"] == "pid, age, illness. No other field of the input is read."
    assert entries["File: input"]["text"].startswith("in.jsonl, ")
    likely = entries["How likely: somebody infers a value of a person (inferring)"]["text"]
    assert "The worst, homogeneity (illness), is right in 100.0 %; by chance" in likely
    assert entries["What is accepted, and by whom"]["text"] == "homogeneity up to 5.0 %; accepted by Example clinic"
    assert entries["Recommended, and not done"]["text"]
    assert report.advice[0].do in page
    assert entries["Legal basis"] == {
        "topic": "Legal basis", "text": "", "source": "you",
        "question": "Which ground of Article 6 applies, and of Article 9 for special categories?",
    }  # fmt: skip
    for each in (each for part in twin["assessment"] for each in part["entries"]):
        assert each["topic"] in page and (each["text"] or each["question"]) in page
    bare = replace(report, policy=Policy.parse(re.sub(r"(?m)^about.*\n", "", POLICY)))
    unsaid = {each.topic for part in bare.assessment for each in part.entries if each.source == "you"}
    assert {"Purpose", "Recipients", "Controller", "Contact"} <= unsaid


def test_a_stable_attribute_is_described_as_it_is_published() -> None:
    from shoal.audit.page.policy import fields

    block = "{sensitive: true, stable: true, as: block, blocks: [[a, b], [c, d, e]]}"
    held = Policy.parse(POLICY.replace("{sensitive: true}", block))
    assert fields(held)[1] == ("illness", "sensitive", "the block of its value, of 2 blocks of at least 2 values")
    bags = Policy.parse(POLICY.replace("{sensitive: true}", "{sensitive: true, stable: true, as: bag}"))
    assert fields(bags)[1][2] == "apart from the rows, in bags of at least 2,000 values"
