from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import shoal
from infer.base import SECRETS, published, records, settings, tokens, write
from shoal.errors import InputError
from shoal.infer import draft
from shoal.policy import Policy

GOLDEN = Path(__file__).with_name("people.yaml")
FORMATS = [".csv", ".jsonl", ".parquet", ".arrow"]


@pytest.fixture(params=FORMATS)
def people(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return write(tmp_path, request.param, records())


def drafted(folder: Path, rows: list[dict[str, Any]], suffix: str = ".jsonl") -> str:
    return draft(write(folder, suffix, rows))


def test_the_whole_text(tmp_path: Path) -> None:
    assert drafted(tmp_path, records(), ".csv") == GOLDEN.read_text()


def test_only_clear_quasi_identifiers_are_published(people: Path) -> None:
    policy = Policy.parse(draft(people))
    assert published(policy) == {
        "age": "numeric", "sex": "categorical", "city": "categorical", "height": "numeric", "latitude": "numeric"
    }  # fmt: skip
    assert (policy.person, policy.time and policy.time.field, policy.nulls) == ("patient_id", "ts", ("",))
    assert policy.time and policy.time.publish == "drop"
    assert policy.privacy.k >= 10
    assert policy.window.length >= 20 * policy.privacy.k
    assert all(attribute.grid for _, attribute in policy.quasi if attribute.quasi == "numeric")


def test_nothing_of_a_person_is_written_down(people: Path) -> None:
    text = draft(people)
    assert [secret for secret in SECRETS if secret in text] == []
    assert not set(tokens(text)) & {17.0, 90.0}


def test_whatever_is_left_out_is_named_with_a_reason(people: Path) -> None:
    text = draft(people)
    policy = Policy.parse(text)
    for name in set(records()[0]) - set(policy.attributes) - {"patient_id", "ts"}:
        assert f"  # '{name}' is left out: " in text
        assert f"\n  {name}:" not in text


def test_each_inactive_setting_can_be_enabled(people: Path) -> None:
    text = draft(people)
    found = settings(text)
    assert len(found) == 5
    for setting in found:
        name = setting.strip().split(":")[0]
        if name == "phone":
            continue  # its hierarchy is to be written first
        assert name in Policy.parse(text.replace("attributes:\n", f"attributes:\n{setting}\n", 1)).attributes


def test_a_run_with_the_draft_rejects_nothing(people: Path, tmp_path: Path) -> None:
    stats = shoal.run(Policy.parse(draft(people)), people, tmp_path / "out.jsonl")
    assert (stats.rejected, stats.released, stats.faults) == (0, 400, {})


@pytest.mark.parametrize(
    ("name", "value", "setting"),
    [
        ("birth_date", lambda i: f"{1940 + i % 60}-05-0{i % 9 + 1}", {"quasi": "numeric", "part": "year"}),
        ("lat", lambda i: 52 + i % 30 / 100, {"quasi": "numeric", "out_of_range": "clip"}),
        ("zip", lambda i: f"{7100 + i % 30}", {"quasi": "categorical", "unknown": "root"}),
    ],
)
def test_ready_hierarchies_are_proposed(tmp_path: Path, name: str, value: Any, setting: dict[str, str]) -> None:
    rows = [{name: value(i), "sex": "fm"[i % 2]} for i in range(200)]
    found = Policy.parse(drafted(tmp_path, rows)).attributes[name]
    assert {key: getattr(found, key) for key in setting} == setting
    path = write(tmp_path, ".jsonl", rows)
    assert shoal.run(Policy.parse(draft(path)), path, tmp_path / "out.jsonl").rejected == 0


def test_rare_values_are_counted_by_person(tmp_path: Path) -> None:
    text = drafted(
        tmp_path, [{"user": i % 40, "city": "Ii" if i % 40 < 4 else "Rome" if i % 2 else "Oslo"} for i in range(800)]
    )
    city = Policy.parse(text).attributes["city"]
    assert "1 rare value (fewer than 5 persons each) not listed" in text
    assert "Ii" not in text
    assert city.unknown == "root"
    assert city.hierarchy and city.hierarchy.labels == ("Oslo", "Rome", "any")


def test_a_sample_of_more_expects_other_values(tmp_path: Path) -> None:
    path = write(tmp_path, ".csv", records())
    text = draft(path, rows=300)
    assert text.startswith("# A draft by `shoal infer`, from a sample, the first 300 rows of 'people.csv' (more follow,")
    assert Policy.parse(text).attributes["sex"].unknown == "root"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("x", lambda i: f"u{i % 30}@mail.example", "some values look like e-mail addresses"),
        ("x", lambda i: f"192.168.{i % 30}.1", "IP addresses can single persons out"),
        ("x", lambda i: f"fe80::{i % 30:x}:1:2", "IP addresses can single persons out"),
        ("x", lambda i: f"+44 20 7946 0{i % 30:03d}", "it holds phone numbers; never publish them whole"),
        ("x", lambda i: f"52.{i % 30 + 100}, 4.8952", "coordinates can single persons out"),
        ("x", lambda i: f"https://me.example/{i % 30}", "some values look like web addresses"),
        ("x", lambda i: f"{i % 30:032x}", "some values look like long codes"),
        ("birthdate", lambda i: 19810500 + i % 30, "these seem to be whole dates of birth"),
        ("x", lambda i: "she said that " + "it was fine " * (i % 30), "some values look like free text"),
        ("x", lambda i: f"q{i}", "almost every row has a different value"),
        ("x", lambda i: 7_000_000 + i, "almost every row has a different value"),
        ("x", lambda i: [i % 30], "it holds lists or objects, which cannot be generalized"),
        ("x", lambda i: None, "it is missing in all rows of the sample"),
        ("x", lambda i: "same", "it has only one value"),
        ("age", lambda i: i if i < 3 else None, "fewer than 5 rows of the sample have a value"),
        ("age", lambda i: 1e308 * (-1) ** i * (1 + i % 3 / 10), "its values are too far apart for a range"),
        ("age", lambda i: "inf" if i == 3 else str(i % 30), "some values are infinite"),
        ("age", lambda i: "old" if i % 9 == 3 else str(i % 30), "it is mixed: most values are numbers, but 11 % are not"),
        ("age", lambda i: f"{i % 60} years", "its values are numbers with a unit or a sign beside them"),
        ("height", lambda i: f"{1000 + i}.5-" if i % 2 else f"{1000 + i}.5", "its values are numbers with a unit or a sign"),
        ("city", lambda i: {"name": "x"} if i % 2 else "y", "it holds lists or objects, which cannot be generalized"),
        ("city", lambda i: f"c{i % 50}", "most of its 50 values are rare (fewer than 5 rows each)"),
        ("city", lambda i: f"c{i % 100}", "most of its 100 values are rare (fewer than 5 rows each)"),
        ("zip", lambda i: f"AB{i % 30} 1C", "a postcode can single persons out"),
        ("surname", lambda i: f"s{i % 30}", "by its name it holds names"),
        ("order_id", lambda i: i % 30, "it may identify persons"),
        ("wearer", lambda i: f"w{i % 8}", "No field identifies persons, so its values are not written here"),
        ("salary", lambda i: 1000 + i % 30, "by its name it is sensitive"),
    ],
)  # fmt: skip
def test_what_is_never_active(tmp_path: Path, name: str, value: Any, reason: str) -> None:
    values = [value(i) for i in range(200)]
    text = drafted(tmp_path, [{name: one, "sex": "fm"[i % 2]} for i, one in enumerate(values)])
    assert published(Policy.parse(text)) == {"sex": "categorical"}
    flat = " ".join(text.replace("#", " ").split())
    assert f"'{name}' is left out: " in flat
    assert reason in flat
    assert not any(one in text for one in values if isinstance(one, str) and len(one) > 3 and one != "same")


def test_few_others_among_numbers(tmp_path: Path) -> None:
    text = drafted(tmp_path, [{"age": "old" if i == 7 else str(20 + i % 50), "sex": "fm"[i % 2]} for i in range(200)])
    flat = " ".join(text.replace("#", " ").split())
    assert "'age' is left out: it is mixed: most values are numbers, but under 1 % are not" in flat
    assert "If enabled, records with other values are rejected. age: {quasi: numeric, range: [15, 70], grid: 5}" in flat


def test_a_field_of_an_address_that_is_none(tmp_path: Path) -> None:
    rows = [{"address": {"city": "ab"[i % 2], "street": "cd"[i % 2]}, "sex": "fm"[i % 2]} for i in range(200)]
    text = drafted(tmp_path, [{"pid": i % 90, **row} for i, row in enumerate(rows)])
    assert published(Policy.parse(text)) == {"address.city": "categorical", "sex": "categorical"}
    assert "'address.street' is left out: by its name it holds addresses; never publish it." in text


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("%Y-%m-%d %H:%M:%S UTC", '"yyyy-mm-dd hh:mm:ss zone"'), ("%d/%b/%Y:%H:%M:%S +0000", '"dd/mmm/yyyy:hh:mm:ss zone"'),
        ("%d.%m.%Y %H.%M", "dd.mm.yyyy hh.mm"), ("%Y%m%d%H%M%S", "yyyymmddhhmmss"), ("%Y-%m-%d 7:%M", '"yyyy-mm-dd hh:mm"'),
        ("%Y%m%dT%H%M%SZ", None),
    ],
)  # fmt: skip
def test_forms_of_times(tmp_path: Path, written: str, form: str | None) -> None:
    moments = [datetime(2025, 3, 3) + timedelta(minutes=37 * i) for i in range(200)]
    text = drafted(
        tmp_path, [{"pid": i % 90, "visit_time": at.strftime(written), "sex": "fm"[i % 2]} for i, at in enumerate(moments)]
    )
    policy = Policy.parse(text)
    assert policy.time and policy.time.field == "visit_time"
    assert f"\ninput: {{times: {{visit_time: {form}}}}}\n" in text if form else "\ninput:" not in text


def test_no_clear_quasi_identifier(tmp_path: Path) -> None:
    text = drafted(tmp_path, [{"pulse": 60 + i % 40, "to_be_decided": i % 7} for i in range(100)])
    assert published(Policy.parse(text)) == {"to_be_decided_": "numeric"}
    assert "DECIDE what to publish: no field is clearly a quasi-identifier" in text


def test_no_person_must_be_decided(tmp_path: Path) -> None:
    text = drafted(tmp_path, [{"age": 20 + i % 40} for i in range(100)])
    assert Policy.parse(text).person is None
    assert "# DECIDE who is a person: no field clearly identifies persons." in text


def test_several_persons_must_be_decided(tmp_path: Path) -> None:
    text = drafted(tmp_path, [{"user_id": i % 60, "patient": f"p{i % 70}", "age": 20 + i % 40} for i in range(200)])
    assert Policy.parse(text).person is None
    assert "several fields may identify persons ('user_id', 'patient')" in text
    assert "\n#person: user_id\n#person: patient\n" in text


def test_a_clearer_name_wins(tmp_path: Path) -> None:
    text = drafted(tmp_path, [{"id": i, "customer_id": i % 60, "age": 20 + i % 40} for i in range(200)])
    assert Policy.parse(text).person == "customer_id"
    assert "Other candidates: 'id'." in " ".join(text.replace("#", "").split())


def test_a_person_who_is_missing(tmp_path: Path) -> None:
    path = write(tmp_path, ".csv", [{"pid": i % 60 if i % 4 else "NA", "age": 20 + i % 40} for i in range(200)])
    text = draft(path)
    policy = Policy.parse(text)
    assert (policy.person, policy.person_missing) == ("pid", "reject")
    assert "Missing in 25 % of the rows, which are rejected" in text
    assert set(shoal.run(policy, path, tmp_path / "out.csv").reasons) == {
        "'pid': the person is missing; give one or set person_missing: own"
    }


@pytest.mark.parametrize(
    ("values", "clear"),
    [
        (lambda i: 1_700_000_000 + i, True),
        (lambda i: f"2024-01-01 10:00:{i % 60:02d}", True),
        (lambda i: 1_700_000_000_000 + i, True),
        (lambda i: i, False),
        (lambda i: "10:30", False),
        (lambda i: None if i == 5 else 1_700_000_000 + i, False),
    ],
)
def test_a_time(tmp_path: Path, values: Any, clear: bool) -> None:
    policy = Policy.parse(drafted(tmp_path, [{"timestamp": values(i), "age": i % 40} for i in range(100)]))
    assert (policy.time and policy.time.field) == ("timestamp" if clear else None)


def test_several_times(tmp_path: Path) -> None:
    rows = [{"start_date": "2024-01-01", "end_date": "2024-01-02", "age": i % 40} for i in range(100)]
    text = drafted(tmp_path, rows)
    assert Policy.parse(text).time is None
    assert "#time: {field: start_date, publish: drop}" in text


def test_missing_only_where_it_occurs(tmp_path: Path) -> None:
    rows = [{"age": "N/A" if i % 5 == 0 else i % 40, "city": ("Rome", "-", "Unknown")[i % 3]} for i in range(200)]
    text = drafted(tmp_path, rows, ".csv")
    policy = Policy.parse(text)
    assert dict(policy.own_nulls) == {"age": ("", "N/A"), "city": ("", "-")}
    flat = " ".join(text.replace("#", " ").split())
    assert "Found: \"N/A\" in 'age'; \"-\" in 'city'." in flat
    assert "Treated as values: \"Unknown\" in 'city'; list them under nulls if they mean missing." in flat


def test_codes_are_categories_and_quantities_are_not(tmp_path: Path) -> None:
    rows = [{"SEX": 1 + i % 2, "education-num": 1 + i % 16, "country_code": f"{i % 3:03d}"} for i in range(200)]
    policy = Policy.parse(drafted(tmp_path, rows))
    assert published(policy) == {"SEX": "categorical", "education-num": "numeric", "country_code": "categorical"}


def test_odd_names_and_labels(tmp_path: Path) -> None:
    labels = ("any", "no", "a: b", "c # d", "1e5", 'q"q', "tab\tx", "é\u2028", "\x7f", "😀", "- x", "null y")
    rows = [{" sex": labels[i % len(labels)], "2019": i % 7, "age: x": i % 30, "age\n": i % 9} for i in range(300)]
    policy = Policy.parse(drafted(tmp_path, rows))
    assert set(policy.attributes) == {" sex", "age: x", "age\n"}
    tree = policy.attributes[" sex"].hierarchy
    assert tree and set(tree.labels) == {*(label.strip() for label in labels), "any value"}


def test_names_that_cannot_be_used(tmp_path: Path) -> None:
    rows = [{"age": i % 30, "": 1, "x" * 2000: 2, **({f"ann{i}": 1} if i < 3 else {})} for i in range(100)]
    text = drafted(tmp_path, rows)
    assert Policy.parse(text).attributes.keys() == {"age"}
    assert "2 fields without a name, or with a very long name: ignored" in text
    assert "3 fields that fewer than 5 records have" in text
    assert "ann" not in text.replace("cannot", "")


def test_more_quasi_identifiers_than_a_policy_holds(tmp_path: Path) -> None:
    text = drafted(tmp_path, [{f"age_{n}": (i + n) % 40 for n in range(70)} for i in range(100)])
    assert len(Policy.parse(text).attributes) == 64
    assert len(settings(text)) == 6


def test_rows_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "people.jsonl"
    path.write_text("".join(f'{{"age": {i % 40}}}\n' for i in range(100)) + "{broken\n\n[1]\n")
    assert "2 rows of the sample cannot be read, and will be rejected." in draft(path)


def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    data = "".join(f"{json.dumps(row)}\n" for row in records()).encode()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    text = draft("-")
    assert "from all 400 rows of standard input." in text
    assert Policy.parse(text).person == "patient_id"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("none.csv", None, "cannot be read (no such file or directory); check the name and the permissions"),
        ("people.txt", "a\n1\n", "unknown kind of file; its name must end in one of "),
        ("empty.csv", "", "is empty; the first line of a CSV file must name its columns"),
        ("header.csv", "age,sex\n", "has no records, since a draft needs some to look at"),
        ("empty.jsonl", "", "has no records, since a draft needs some to look at"),
        ("broken.jsonl", "{\n{\n", "none of its first 2 rows can be read; give one object per line"),
        ("empty.parquet", "", "is not a Parquet file, or damaged or cut short; write it again"),
        ("empty.arrow", "", "is not an Arrow file, or damaged or cut short; write it again"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, name: str, content: str | None, told: str) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(InputError) as caught:
        draft(tmp_path / name)
    assert str(caught.value).startswith(f"{tmp_path / name}: {told}")


def test_no_rows_are_no_sample(people: Path) -> None:
    with pytest.raises(InputError, match="look at one row at least"):
        draft(people, rows=0)


def test_sets_are_proposed_where_they_lose_less_in_the_sample(tmp_path: Path) -> None:
    """Twelve cities, most persons in the first: a group shows few of them. Two cities would be both in every group."""
    rows = [{"pid": i, "age": i % 90, "city": f"Town {max(0, i % 60 - 48)}", "sex": "fm"[i % 2]} for i in range(1200)]
    text = drafted(tmp_path, rows, ".csv")
    policy = Policy.parse(text)
    assert policy.attributes["city"].sets == (None, 1)
    assert policy.attributes["sex"].sets is None
    why = "generalize: set, because 20 rows of the sample have 4.1 of them on average: as a set they lose 0.29, as a node 0.98"
    assert why in " ".join(text.replace("#", " ").split())


def test_dates_of_birth_are_no_times_of_records(tmp_path: Path) -> None:
    days = [f"{1930 + n * 7 % 70}-0{n % 9 + 1}-{n % 28 + 1:02}" for n in range(300)]
    for name, is_published in (("born", True), ("Geburtsdatum", True), ("column_2", False)):
        policy = Policy.parse(
            drafted(tmp_path, [{"pid": f"p{n % 99}", name: day, "age": n % 60} for n, day in enumerate(days)])
        )
        assert policy.time is None
        assert (name in policy.attributes) == is_published


def test_dates_of_some_years_are_times_of_records(tmp_path: Path) -> None:
    days = [f"{2020 + n % 5}-0{n % 9 + 1}-{n % 28 + 1:02}" for n in range(300)]
    policy = Policy.parse(drafted(tmp_path, [{"pid": f"p{n % 99}", "seen": day, "age": n % 60} for n, day in enumerate(days)]))
    assert policy.time and policy.time.field == "seen"


def test_an_amount_is_sensitive_even_if_each_row_has_its_own(tmp_path: Path) -> None:
    text = drafted(tmp_path, [{"pid": f"p{n % 99}", "income": 1000 + 7 * n, "age": n % 60} for n in range(300)])
    assert "\n  #income: {sensitive: true}\n" in text


def test_numbers_that_can_be_read_in_two_ways_say_so(tmp_path: Path) -> None:
    rows = [{"pid": f"p{n % 99}", "paid": f"{n + 1},{n:03}", "age": n % 60} for n in range(300)]
    text = " ".join(drafted(tmp_path, rows).replace("\n  # ", " ").split())
    assert (
        "'paid' is left out: its values cannot be read as numbers; is the decimal mark a comma? (input.decimal) or does "
        "a comma stand between thousands? (input.thousands)."
    ) in text
