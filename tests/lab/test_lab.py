"""What the lab does, without a browser."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import shoal
from shoal.audit import audit
from shoal.errors import InputError, PolicyError
from shoal.formats import open_writer
from shoal.infer import draft
from shoal.lab import Form, Lab, Reading
from shoal.lab.upload import TEXT
from tests.lab.base import people, visits


def fads(lab: Lab) -> Form:
    """The draft, with an algorithm whose kernels are quickly there."""
    return lab.draft().model_copy(update={"algorithm": "fads", "k": "5", "window": "100"})


def changed(form: Form, name: str, **changes: object) -> Form:
    entries = [entry.model_copy(update=changes) if entry.name == name else entry for entry in form.fields]
    return form.model_copy(update={"fields": entries})


def test_the_draft_is_that_of_infer(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        form = lab.draft()
        drafted = shoal.Policy.parse(lab.policy(form))
    assert drafted == shoal.Policy.parse(draft(tmp_path / "people.csv"))
    assert (form.person, {entry.name: entry.role for entry in form.fields}) == (
        "pid", {"pid": "omit", "age": "numeric", "city": "categorical", "disease": "omit"},
    )  # fmt: skip
    assert "sensitive" in next(entry.note for entry in form.fields if entry.name == "disease")


def test_a_policy_from_the_lab_runs_and_passes(tmp_path: Path) -> None:
    source = people(tmp_path)
    with Lab(source, save=tmp_path / "policy.yaml") as lab:
        form = changed(fads(lab), "disease", role="sensitive")
        assert [message for message in lab.check(form) if message.kind == "problem"] == []
        tried, risk = lab.trial(form), lab.risk(form)
        assert lab.save(form) == "policy.yaml"
    stats = shoal.run(tmp_path / "policy.yaml", source, tmp_path / "out.csv", trace=tmp_path / "trace.jsonl")
    report = audit(tmp_path / "policy.yaml", source, tmp_path / "out.csv", tmp_path / "trace.jsonl")
    assert report.held and risk["held"]
    told = ("released", "suppressed", "loss", "smallest", "longest")
    assert [tried[name] for name in told] == [
        stats.released, stats.suppressed, stats.loss, stats.smallest_group, stats.longest_wait,
    ]  # fmt: skip
    ours = {each["name"]: each["success"] for each in risk["attacks"]}
    assert ours == {each.label: each.success for each in report.exposures}
    assert risk["verdict"]["colour"] == report.headline.colour
    assert {each["name"]: each["loss"] for each in tried["attributes"]} == report.figures.utility.loss.attribute
    assert sum(tried["waits"]["counts"]) == tried["released"]


def test_rows_before_and_after_belong_together(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        rows = lab.trial(fads(lab))["rows"]
    assert (rows["columns"], rows["gone"]) == (["pid", "age", "city"], ["pid"])
    for before, after in zip(rows["before"], rows["after"], strict=True):
        ends = [float(end) for end in after[1].split(" – ")]
        assert ends[0] <= float(before[1]) <= ends[-1] and after[2] in (before[2], "any") and after[0] == ""


@pytest.mark.parametrize(
    ("field", "changes", "part", "text"),
    [
        ("age", {"high": "abc"}, "range", "attributes.age.range: is not a number; write one, without quotes"),
        ("age", {"low": "", "high": ""}, "range", "attributes.age.range: is missing; write [lowest, highest]"),
        ("age", {"grid": "500"}, "grid", "attributes.age.grid: is wider than the range; use at most 55"),
        (
            "city", {"tree": "any\n  Paris\n Oslo"}, "hierarchy",
            "attributes.city.hierarchy: line 3: stands beside no line above it; align it with its siblings",
        ),
        ("city", {"tree": ""}, "hierarchy", "attributes.city.hierarchy: is missing; name a file in the policy's folder"),
        ("city", {"tree": "any\n  Paris", "lenient": False}, "", "'city', "),
    ],
)  # fmt: skip
def test_a_wrong_field_is_told_by_its_place(tmp_path: Path, field: str, changes: dict[str, str], part: str, text: str) -> None:
    with Lab(people(tmp_path)) as lab:
        found = [message for message in lab.check(changed(fads(lab), field, **changes)) if message.kind == "problem"]
    assert [(message.field, message.part) for message in found] == [(field, part)]
    assert found[0].text.startswith(text)


def test_the_messages_are_those_of_check(tmp_path: Path) -> None:
    source = people(tmp_path)
    with Lab(source) as lab:
        form = changed(fads(lab), "age", high="50", grid="").model_copy(update={"more": "privacy: {nulls_match: maybe}"})
        told = lab.check(form)
        (tmp_path / "policy.yaml").write_text(lab.policy(form))
    found = shoal.check(tmp_path / "policy.yaml", source)
    assert [message.text for message in told] == [*found.problems, *found.warnings]
    assert found.problems and len(found.warnings) >= 2


def test_settings_beyond_the_sheet(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        more = {"more": "privacy: {l: 2}\nweights: {age: 2}"}
        form = changed(fads(lab), "disease", role="sensitive").model_copy(update=more)
        policy = shoal.Policy.parse(lab.policy(form))
        wrong = lab.check(form.model_copy(update={"more": "privacy"}))
        assert lab.trial(form)["released"] == 600
    assert policy.requirements[0].l and policy.weights == {"age": 2}
    assert [(message.part, message.text[:23]) for message in wrong] == [("more", "more: is not a mapping;")]


def test_a_trial_of_a_wrong_policy_is_refused(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab, pytest.raises(PolicyError):
        lab.trial(fads(lab).model_copy(update={"k": "0"}))


def test_algorithms_are_compared_under_the_same_promise(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        found = lab.compare(fads(lab), "fads")
        wrong = lab.compare(fads(lab).model_copy(update={"more": "algorithm: {reuse_limit: 3}"}), "fads")
    assert [point["window"] for point in found["windows"]] == [25, 50, 100, 200, 400]
    assert [point["k"] for point in found["ks"]] == [2, 5, 10, 20]
    losses = [point["loss"] for point in found["ks"]]
    assert losses == sorted(losses) and found["obstacle"] == wrong["obstacle"] == ""


def test_a_field_in_another_role(tmp_path: Path) -> None:
    with Lab(people(tmp_path)) as lab:
        tree = lab.propose("disease", "categorical").tree
        age = lab.propose("age", "numeric")
        with pytest.raises(InputError, match="not all of its values are numbers"):
            lab.propose("city", "numeric")
        with pytest.raises(InputError, match="is not in the sample"):
            lab.propose("nothing", "numeric")
    assert tree == "any\n  asthma\n  cold\n  flu" and (age.low, age.high, age.grid) == ("15", "70", "5")


def test_transactions(tmp_path: Path) -> None:
    source = visits(tmp_path)
    with Lab(source) as lab:
        form = Form(person="user", time="t", item="site", algorithm="zanon", z="10", span="10m", fields=lab.draft().fields)
        assert [message.text for message in lab.check(form) if message.kind == "problem"] == []
        tried, risk = lab.trial(form), lab.risk(form)
        curve = lab.probabilities(form)
        with pytest.raises(InputError, match="item: is not named"):
            lab.probabilities(form.model_copy(update={"item": ""}))
    assert tried["kind"] == "filter" and tried["released"] + tried["withheld"] == 4000 and risk["held"]
    assert [row["z"] for row in curve["rows"]] == sorted(row["z"] for row in curve["rows"])
    assert curve["best"] in [row["z"] for row in curve["rows"]]


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "several.csv.gz", "jsonl", "parquet"])
def test_what_is_handed_over(tmp_path: Path, kind: str) -> None:
    source = people(tmp_path)
    table = pa.csv.read_csv(source)
    data = source.read_bytes()
    if kind == "csv.gz":
        data = gzip.compress(data)
    elif kind == "several.csv.gz":  # one behind the other, as several programs write them
        data = gzip.compress(data[:5000]) + gzip.compress(data[5000:]) + b"\0" * 8
    elif kind != "csv":
        target = tmp_path / f"people.{kind}"
        if kind == "parquet":
            pyarrow.parquet.write_table(table, target)
        else:
            with open_writer(str(target)) as writer:
                writer.write(table.combine_chunks().to_batches()[0])
        data = target.read_bytes()
    with Lab() as lab:
        state = lab.receive(f"C:\\data\\people.{kind}", [data[:1000], data[1000:]])
        assert (state["sample"]["name"], state["sample"]["rows"]) == (f"people.{kind}", 600)
        assert lab.trial(fads(lab))["released"] == 600
        folder = lab.folder
        assert list(folder.iterdir()) and folder.stat().st_mode & 0o077 == 0
    assert not folder.exists()


def test_two_files_that_are_handed_over_at_a_time(tmp_path: Path) -> None:
    data = people(tmp_path).read_bytes()

    def chunks(lab: Lab) -> Iterator[bytes]:
        yield data[:1000]
        lab.receive("other.csv", [data])
        yield data[1000:]

    with Lab() as lab:
        assert lab.receive("people.csv", chunks(lab))["sample"]["name"] == "people.csv"
        assert lab.trial(fads(lab))["released"] == 600
        assert len(list(lab.folder.iterdir())) == 1


def test_a_large_text_is_cut_not_swallowed(tmp_path: Path) -> None:
    head, line = b"pid,age,city,disease\n", b"p1,30,Paris,flu\n"
    taken = 0

    def chunks():  # type: ignore[no-untyped-def]
        nonlocal taken
        yield head
        for _ in range(100):
            taken += 1
            yield line * 65_536  # a megabyte

    with Lab() as lab:
        state = lab.receive("people.csv", chunks())
        sizes = [file.stat().st_size for file in lab.folder.rglob("*") if file.is_file()]
    assert (state["sample"]["rows"], state["sample"]["complete"]) == (20_000, False)
    assert taken <= (TEXT >> 20) + 2 and sizes[0] <= TEXT


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("people.exe", b"", "unknown kind of file"),
        ("people.csv", b"", "people.csv|no records|empty"),
        ("people.parquet", b"PAR1", "sample.parquet|people.parquet"),
        ("people.csv.gz", b"nothing", "gzip data is damaged"),
    ],
)
def test_what_cannot_be_read_is_refused(name: str, data: bytes, says: str) -> None:
    with Lab() as lab, pytest.raises(InputError, match=says):
        lab.receive(name, [data])


def test_without_a_sample_nothing_is_tried() -> None:
    with Lab() as lab:
        assert lab.state()["sample"] is None
        with pytest.raises(InputError, match="there is no sample yet; give a file"):
            lab.trial(Form())
        with pytest.raises(InputError, match="start it with --save FILE"):
            lab.save(Form(fields=[{"name": "a", "role": "numeric", "low": "0", "high": "1"}]))


def test_a_file_that_was_misread_is_read_in_another_way(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("pid;age;paid\n" + "".join(f"p{n % 90};{20 + n % 40};{n},{n % 1000:03}\n" for n in range(1, 301)), "cp1252")
    with Lab(path) as lab:
        found = lab.state()["sample"]["reading"]
        assert found == {"separator": ";", "encoding": "utf-8", "decimal": ".", "thousands": ""}
        assert [field.name for field in lab.draft().fields] == ["pid", "age", "paid"]
        again = lab.read_as(Reading(separator=";", encoding="cp1252", decimal=","))["sample"]
        assert again["reading"] == {"separator": ";", "encoding": "cp1252", "decimal": ",", "thousands": ""}
        assert lab.draft().more == 'input: {separator: ";", encoding: cp1252, decimal: ","}\n'
        assert lab.propose("paid", "numeric").high == "320"
        thousands = lab.read_as(Reading(separator=";", thousands=","))["sample"]
        assert thousands["reading"]["thousands"] == "," and lab.propose("paid", "numeric").high == "320000"
        assert lab.read_as(Reading(separator="|"))["sample"]["fields"] == ["pid;age;paid"]
        with pytest.raises(InputError) as caught:
            lab.read_as(Reading(encoding="utf-16"))
        said = "people.csv: has no mark of UTF-16 at its beginning; save it as UTF-8, or correct input.encoding"
        assert str(caught.value) == said
        with pytest.raises(InputError) as caught:
            lab.read_as(Reading(decimal=",", thousands=","))
        assert str(caught.value) == "reading: the decimal mark cannot stand between thousands, too; choose another"


def test_only_csv_is_read_in_another_way(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text("".join(f'{{"pid": {n % 90}, "age": {n % 60}}}\n' for n in range(300)))
    with Lab(path) as lab:
        assert lab.state()["sample"]["reading"] is None
        with pytest.raises(InputError) as caught:
            lab.read_as(Reading(separator=";"))
        assert str(caught.value) == "people.jsonl: says itself how it is written; only CSV is read in other ways"


def test_a_report_names_the_file_of_the_sample_and_its_digest(tmp_path: Path) -> None:
    source = people(tmp_path)
    with Lab(source) as lab:
        form = fads(lab).model_copy(update={"purpose": "to plan wards"})
        page, assessment = lab.report(form), lab.assessment(form)
    digest = sha256(source.read_bytes()).hexdigest()
    for text in ("people.csv", digest, "to plan wards"):
        assert text in page and text in assessment
    with Lab(source, rows=300) as lab:
        page = lab.report(fads(lab))
    assert "the first 300 rows of people.csv" in page and digest not in page
