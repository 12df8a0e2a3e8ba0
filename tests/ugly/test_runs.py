"""Ordinary files through a run and an audit; wrong data is loud."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pytest

import shoal
from shoal.audit import audit
from shoal.checks import check
from shoal.errors import InputError, PolicyError, RejectedError
from shoal.formats import detected
from shoal.infer import draft, study, written

POLICY = """
input: {separator: ";", encoding: cp1252, decimal: ",", times: {born: dd.mm.yyyy}}
person: pid
nulls: {weight: ["", NA]}
attributes:
  born: {quasi: numeric, part: year, range: [1900, 2030], grid: 5}
  weight: {quasi: numeric, range: [0, 300], grid: 10}
  town: {quasi: categorical, hierarchy: {any: [Köln, Graz]}}
privacy: {k: 3}
window: {count: 30}
algorithm: {name: fads}
"""


def people(rows: int = 60) -> list[tuple[str, date, float | None, str]]:
    random = Random(3)
    return [
        (f"p{i}", date(random.randint(1930, 2010), random.randint(1, 12), random.randint(1, 28)),
         None if i % 7 == 0 else round(random.uniform(40, 120), 1), random.choice(["Köln", "Graz"]))
        for i in range(rows)
    ]  # fmt: skip


def european(path: Path, rows: int = 60, wrong: int = 0) -> Path:
    lines = ["pid;born;weight;town"]
    for i, (pid, born, weight, town) in enumerate(people(rows)):
        shown = "x" if i < wrong else "NA" if weight is None else str(weight).replace(".", ",")
        lines.append(f"{pid};{born:%d.%m.%Y};{shown};{town}")
    path.write_bytes("\r\n".join([*lines, ""]).encode("cp1252"))
    return path


def typed() -> pa.Table:
    pid, born, weight, town = zip(*people(), strict=True)
    return pa.table({"pid": pid, "born": pa.array(born, pa.date32()), "weight": weight, "town": town})


def excel(path: Path) -> None:
    from openpyxl import Workbook

    book = Workbook()
    sheet = book.active
    for row in [("pid", "born", "weight", "town"), *people()]:
        sheet.append(row)
    book.save(path)


def avro(path: Path) -> None:
    import fastavro

    kinds = {"pid": "string", "born": {"type": "int", "logicalType": "date"}, "weight": ["null", "double"], "town": "string"}
    schema = {"type": "record", "name": "p", "fields": [{"name": name, "type": kind} for name, kind in kinds.items()]}
    with path.open("wb") as file:
        fastavro.writer(file, schema, [dict(zip(kinds, row, strict=True)) for row in people()])


WRITERS = {
    "p.csv": european,
    "p.xlsx": excel,
    "p.avro": avro,
    "p.orc": lambda path: pyarrow.orc.write_table(typed(), path),
    "p.feather": lambda path: pyarrow.feather.write_feather(typed(), path),
    "p.parquet": lambda path: pyarrow.parquet.write_table(typed(), path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_kind_of_file_gives_the_same_output_and_passes_the_audit(tmp_path: Path, name: str) -> None:
    policy = shoal.Policy.parse(POLICY)
    first, source, target, trace = tmp_path / "first.csv", tmp_path / name, tmp_path / "out.csv", tmp_path / "t.jsonl"
    shoal.run(policy, european(tmp_path / "e.csv"), first)
    WRITERS[name](source)
    stats = shoal.run(policy, source, target, trace=trace)
    assert (stats.received, stats.rejected) == (60, 0)
    assert target.read_text() == first.read_text()
    assert audit(policy, source, target, trace).held
    assert check(policy, source).problems == ()


def test_too_many_rejected_records_leave_a_draft(tmp_path: Path) -> None:
    source, target = european(tmp_path / "e.csv", wrong=4), tmp_path / "out.csv"
    with pytest.raises(RejectedError) as caught:
        shoal.run(shoal.Policy.parse(POLICY), source, target, trace=tmp_path / "t.jsonl", max_rejected=0.05)
    draft = tmp_path / "out.draft.csv"
    text = f"{source}: 6.7 % of the records were rejected, more than 5.0 %; the output is kept as a draft, {draft}"
    assert str(caught.value) == text
    assert caught.value.stats.reasons == {"'weight': not a number (value withheld); is it text? (quasi: categorical)": 4}
    assert {path.name for path in tmp_path.iterdir()} == {"e.csv", "out.draft.csv", "t.draft.jsonl"}
    assert shoal.run(shoal.Policy.parse(POLICY), source, target, max_rejected=0.07).rejected == 4


NARROW = "{person: pid, attributes: {age: {quasi: numeric, range: [0, 99], grid: 1}}, privacy: {k: 1}, window: {count: 9}}"


def test_lines_that_an_open_quote_takes_are_loud(tmp_path: Path) -> None:
    """They are one record, but many lines are lost: a share of rejected records alone would not show it."""
    source, target = tmp_path / "e.csv", tmp_path / "out.csv"
    source.write_text('pid,age\n1,2\n3,"4\n' + "5,6\n" * 30 + '7,8",9\n9,10\n')
    seen: list[str] = []
    with pytest.raises(RejectedError) as caught:
        shoal.run(shoal.Policy.parse(NARROW), source, target, max_rejected=0.6, on_reject=lambda each: seen.append(str(each)))
    assert "94.1 % of the lines were rejected, more than 60.0 %; the output is kept as a draft" in str(caught.value)
    assert caught.value.stats.rejected == 1 and not target.exists()
    assert seen == [
        "line 3: 3 fields where the header has 2, on 32 lines; is a quote not closed? Give as many, and quote values that hold "
        "a comma"
    ]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_an_open_quote_at_the_end_spoils_its_line_alone(tmp_path: Path, mark: str) -> None:
    """Also for the judge: it finds the same records."""
    source, target, trace = tmp_path / "e.csv", tmp_path / "out.csv", tmp_path / "t.jsonl"
    good = "".join(f'{i},"{i}"\n' for i in range(40))
    source.write_text(f'{mark}"pid","age"\n{good}77,"4\n' + good.replace('"', "") + "x,6\n")
    seen: list[str] = []
    policy = shoal.Policy.parse(NARROW)
    stats = shoal.run(policy, source, target, trace=trace, on_reject=lambda each: seen.append(str(each)))
    assert (stats.received, stats.rejected) == (82, 1)
    assert seen == ["line 42: a quoted value is not closed; close it, or double the quotes inside it"]
    assert audit(policy, source, target, trace).held


def test_a_sheet_with_a_title_or_two_rows_of_names_is_refused(tmp_path: Path) -> None:
    from openpyxl import Workbook

    told = "its first row is no header: {} with values below it have no name in it; remove what stands above the header"
    for above, unnamed in ((("Our guests",), "2 columns"), (("Who", None, "What"), None), (("Who",), "2 columns")):
        book = Workbook()
        for row in (above, ("pid", "age", "town"), *(("p", 3, "Oslo") for _ in range(9))):
            book.active.append(row)
        book.save(tmp_path / "e.xlsx")
        if unnamed:
            with pytest.raises(InputError, match=told.format(unnamed)):
                draft(tmp_path / "e.xlsx")
        else:  # one column without a name, as an index has
            assert "1 field without a name" in draft(tmp_path / "e.xlsx")


def test_a_workbook_of_several_sheets(tmp_path: Path) -> None:
    from openpyxl import Workbook

    book, path = Workbook(), tmp_path / "guests.xlsx"
    book.active.append(["Read me"])
    guests = book.create_sheet("Guests")
    for row in (("pid", "age"), *((f"p{i}", 20 + i % 9) for i in range(90))):
        guests.append(row)
    book.save(path)
    first = "the first of 2 sheets (infer --sheet, or input.sheet, names another)"
    assert str(detected(str(path))) == first
    with pytest.raises(InputError) as caught:
        study(str(path), 100)
    assert str(caught.value) == f"{path}: has no records in {first}, since a draft needs some to look at"
    seen = study(str(path), 100, detected(str(path), sheet="Guests"))
    assert str(seen.sample.written) == ""
    policy = shoal.Policy.parse(written(str(path), seen))
    assert (policy.input.sheet, policy.person, set(policy.attributes)) == ("Guests", "pid", {"age"})
    with pytest.raises(InputError) as caught:
        detected("x.csv", sheet="Guests")
    assert str(caught.value) == "x.csv: is no workbook, and has no sheets; leave out --sheet"


def test_dates_of_eight_digits(tmp_path: Path) -> None:
    source = tmp_path / "e.csv"
    source.write_text("".join(["pid,born,code\n", *(f"{i},{19530101 + i % 28},{19530101 + i % 28}\n" for i in range(60))]))
    drafted = draft(source)
    assert "input: {times: {born: yyyymmdd}}" in drafted and "born: {quasi: numeric, part: year" in drafted
    assert "code: yyyymmdd" not in drafted


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_named_by_their_number_in_the_file(tmp_path: Path, end: str) -> None:
    source = tmp_path / "e.csv"
    source.write_bytes('pid,age\n\n1,"3"\n2,"a\nb"\n3,x\n4,5,6\n'.replace("\n", end).encode())
    policy = "{person: pid, attributes: {age: {quasi: numeric, range: [0, 9], grid: 1}}, privacy: {k: 1}, window: {count: 9}}"
    seen: list[str] = []
    shoal.run(shoal.Policy.parse(policy), source, tmp_path / "out.csv", on_reject=lambda each: seen.append(str(each)))
    assert seen == [
        "line 4, 'age': not a number (value withheld); is it text? (quasi: categorical)",
        "line 6, 'age': not a number (value withheld); is it text? (quasi: categorical)",
        "line 7: 3 fields where the header has 2; give as many, and quote values that hold a comma",
    ]


def test_a_field_that_never_appears_is_an_error_at_once(tmp_path: Path) -> None:
    plain = shoal.Policy.parse(POLICY.replace('separator: ";", encoding: cp1252, ', ""))
    source = european(tmp_path / "e.csv")
    progress: list[object] = []
    with pytest.raises(InputError) as caught:
        shoal.run(plain, source, tmp_path / "out.csv", on_progress=progress.append)
    assert progress == []  # not even the first block went further
    assert str(caught.value) == (
        f"{source}: has no field 'pid', 'born', 'weight', 'town'; correct its name in the policy, or list it under "
        "input.optional. input: the file seems to have semicolons between fields, Windows-1252, decimal commas, a header; "
        'write input: {separator: ";", encoding: cp1252, decimal: ","}'
    )
    lines = tmp_path / "l.jsonl"
    lines.write_text('{"pid": 1, "born": "2000-01-01", "town": "Graz"}\n' * 3)
    said = shoal.Policy.parse(POLICY.replace("input: {", "input: {optional: [weight], "))
    with pytest.raises(InputError, match=r"none of its 3 records has 'weight'"):
        shoal.run(shoal.Policy.parse(POLICY.replace("times: {born: dd.mm.yyyy}", "")), lines, tmp_path / "out.csv")
    assert shoal.run(said, lines, tmp_path / "out.csv", max_rejected=1.0).received == 3


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("3,5", "is the decimal mark a comma? (input.decimal)"),
        ("1.234,5", "is the decimal mark a comma? (input.decimal) is there a mark between thousands? (input.thousands)"),
        ("1,234", "is the decimal mark a comma? (input.decimal) or does a comma stand between thousands? (input.thousands)"),
        ("n/a", "does it mean missing? (nulls)"),
        ("12 kg", "is there a unit beside the number? remove it first"),
        ("03.04.1985", "is it a date? (part: year)"),
    ],
)
def test_a_likely_cause_is_named_without_the_value(value: str, cause: str) -> None:
    policy = "{person: none, attributes: {a: {quasi: numeric, range: [0, 9], grid: 1}}, privacy: {k: 1}, window: {count: 9}}"
    anonymizer = shoal.Anonymizer(shoal.Policy.parse(policy))
    anonymizer.push({"a": value})
    assert str(anonymizer.rejected[0]) == f"row 1, 'a': not a number (value withheld); {cause}"


def test_the_likely_cause_of_very_many_values() -> None:
    policy = "{person: none, attributes: {a: {quasi: numeric, range: [0, 9], grid: 1}}, privacy: {k: 1}, window: {count: 9}}"
    anonymizer = shoal.Anonymizer(shoal.Policy.parse(policy))
    anonymizer.push_batch(pa.RecordBatch.from_pylist([{"a": f"3,{i:03}5"} for i in range(900)]))
    comma = "'a': not a number (value withheld); is the decimal mark a comma? (input.decimal)"
    assert dict(anonymizer.stats.reasons) == {comma: 900}


def test_ambiguous_times_name_both_readings(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("pid,ts\n" + "".join(f"p{i},0{i % 9 + 1}/0{i % 8 + 1}/2025\n" for i in range(40)))
    with pytest.raises(PolicyError) as caught:
        shoal.Policy.parse(draft(path))
    text = "input.times.ts: is ambiguous: the values fit dd/mm/yyyy and mm/dd/yyyy; keep the one that is meant"
    assert text in caught.value.problems


def test_paths_lead_into_lists(tmp_path: Path) -> None:
    policy = shoal.Policy.parse(
        "{person: who.id, attributes: {visits.0.age: {quasi: numeric, range: [0, 99], grid: 1}}, privacy: {k: 2}, "
        "window: {count: 9}, algorithm: {name: fads}}"
    )
    rows = [{"who": {"id": i}, "visits": [{"age": 10 + i % 3}, {"age": 90}]} for i in range(12)] + [
        {"who": {"id": 99}, "visits": []}
    ]
    lines, table = tmp_path / "v.jsonl", tmp_path / "v.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    pyarrow.parquet.write_table(pa.Table.from_pylist(rows), table)
    outputs = []
    for source in (lines, table):
        target, trace = tmp_path / "out.csv", tmp_path / "t.jsonl"
        assert shoal.run(policy, source, target, trace=trace).rejected == 0
        assert audit(policy, source, target, trace).held
        outputs.append(target.read_text())
    assert outputs[0] == outputs[1] and "90" not in outputs[0]


def test_only_the_beginning_of_a_long_file_is_read(tmp_path: Path) -> None:
    """A sparse file of 20 GB: whoever read on would meet bytes that no text has."""
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        file.write(b"pid,age\n" + b"".join(b"p%d,%d\n" % (i % 9000, 20 + i % 60) for i in range(1_000_000)))
        file.truncate(20 << 30)
    text = draft(path)
    assert text.startswith("# A draft by `shoal infer`, from a sample, the first 10,000 rows of 'long.csv' (more follow")
    found = check(shoal.Policy.parse(text), path)
    assert (found.ok, found.rows, found.complete) == (True, 10_000, False)
