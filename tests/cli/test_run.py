from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.base import Shoal, files, record, write

pytestmark = pytest.mark.slow

HIERARCHY = "not in its hierarchy (value withheld); add it there or set unknown: root"
RANGE = "outside [0, 100] (value withheld); widen the range or set out_of_range: clip"


def test_from_file_to_file_in_silence(folder: Path, shoal: Shoal) -> None:
    done = shoal("run", "policy.yaml", "people.jsonl", "out.jsonl")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    assert len(lines) == 100
    assert {tuple(line) for line in lines} == {("age", "city", "disease")}
    assert files(folder) == {"policy.yaml", "people.jsonl", "out.jsonl"}


def test_from_pipe_to_pipe(folder: Path, shoal: Shoal) -> None:
    shoal("run", "policy.yaml", "people.jsonl", "out.jsonl")
    done = shoal("run", "policy.yaml", "-", "-", stdin=(folder / "people.jsonl").read_text())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (folder / "out.jsonl").read_text()


def test_csv_from_pipe_to_pipe(folder: Path, shoal: Shoal) -> None:
    policy = (folder / "policy.yaml").read_text()
    (folder / "semicolons.yaml").write_text(f'{policy}input: {{separator: ";"}}\n')
    rows = ["pid;age;city;disease", *(f"{n % 17};{n % 100};Paris;d{n % 3}" for n in range(60))]
    (folder / "people.csv").write_text("\n".join(rows))
    shoal("run", "semicolons.yaml", "people.csv", "out.csv")
    done = shoal("run", "semicolons.yaml", "-", "-", "--from", "csv", "--to", "csv", stdin=(folder / "people.csv").read_text())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (folder / "out.csv").read_text()


@pytest.mark.parametrize(
    ("source", "form", "said"),
    [
        ("people.jsonl", "csv", "--from: is for - alone; the name of a file says its format"),
        ("-", "parquet", "--from: is no format of a pipe; use csv, tsv or jsonl"),
    ],
)
def test_a_format_is_for_pipes(shoal: Shoal, source: str, form: str, said: str) -> None:
    done = shoal("run", "policy.yaml", source, "out.jsonl", "--from", form)
    assert (done.returncode, done.stderr) == (2, f"{said}\n")


def test_a_pipe_that_a_policy_calls_a_csv_is_not_taken_for_json_lines(folder: Path, shoal: Shoal) -> None:
    (folder / "semicolons.yaml").write_text((folder / "policy.yaml").read_text() + 'input: {separator: ";"}\n')
    done = shoal("run", "semicolons.yaml", "-", "out.jsonl", stdin="pid;age;city;disease\n")
    assert (done.returncode, done.stderr) == (
        2, "-: is read as JSON lines, but input of the policy describes a CSV; add --from csv or --from jsonl\n",
    )  # fmt: skip


def test_standard_output_has_no_tabs(shoal: Shoal) -> None:
    done = shoal("run", "policy.yaml", "people.jsonl", "-", "--to", "tsv")
    assert (done.returncode, done.stderr) == (2, "--to: is no format of a pipe; use csv or jsonl\n")


def test_the_trace(folder: Path, shoal: Shoal) -> None:
    done = shoal("run", "policy.yaml", "people.jsonl", "out.jsonl", "--trace", "trace.jsonl")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    assert {tuple(line) for line in lines} == {("row", "how", "cluster", "arrived", "released")}
    assert sorted(line["row"] for line in lines) == list(range(100))


def test_rejected_records_are_told_by_row_and_reason(folder: Path, shoal: Shoal) -> None:
    records = [record(i) for i in range(50)]
    records[3] = record(3, city="Atlantis-7731")
    records[7] = record(7, age=7731)
    records[9] = record(9, pid=None)
    write(folder / "people.jsonl", [*records, "{broken 7731"])
    done = shoal("run", "policy.yaml", "people.jsonl", "out.jsonl", "--max-rejected", "10%")
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        f"people.jsonl: row 4, 'city': {HIERARCHY}",
        f"people.jsonl: row 8, 'age': {RANGE}",
        "people.jsonl: row 10, 'pid': the person is missing; give one or set person_missing: own",
        "people.jsonl: row 51: malformed JSON; give one object per line",
        *[line for line in done.stderr.splitlines() if "OUTSIDE k" in line],
    ]
    assert len((folder / "out.jsonl").read_text().splitlines()) == 47


def test_many_rejected_records_are_counted_by_reason(folder: Path, shoal: Shoal) -> None:
    wrong = [record(i, city="Atlantis") if i % 3 else record(i, age=-1) for i in range(1200)]
    write(folder / "people.jsonl", [*wrong, *(record(i) for i in range(50))])
    done = shoal("run", "policy.yaml", "people.jsonl", "out.jsonl")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"people.jsonl: row 1, 'age': {RANGE}",
        f"people.jsonl: row 2, 'city': {HIERARCHY}",
        "people.jsonl: 1,200 records rejected:",
        f"  800  'city': {HIERARCHY}",
        f"  400  'age': {RANGE}",
        *[line for line in done.stderr.splitlines() if "OUTSIDE k" in line],
        "people.jsonl: 96.0 % of the records were rejected, more than 5.0 %; the output is kept as a draft, out.draft.jsonl",
        f"  800 (64.0 %): 'city': {HIERARCHY}",
        f"  400 (32.0 %): 'age': {RANGE}",
        "Correct the input or the policy as the reasons say, and run again; or allow more with --max-rejected.",
    ]
    assert files(folder) == {"policy.yaml", "people.jsonl", "out.draft.jsonl"}


def test_the_figures_of_a_run_as_json(folder: Path, shoal: Shoal) -> None:
    write(folder / "people.jsonl", [*(record(i) for i in range(50)), record(1, age=7731)])
    done = shoal("run", "policy.yaml", "people.jsonl", "out.jsonl", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["received"], found["rejected"], found["is_draft"]) == (0, 51, 1, False)
    assert found["reasons"] == [{"reason": f"'age': {RANGE}", "count": 1}]
    done = shoal("run", "policy.yaml", "people.jsonl", "-", "--json")
    assert done.stderr == "--json: standard output is the OUTPUT; write OUTPUT to a file\n"


def test_strict_stops_at_the_first(folder: Path, shoal: Shoal) -> None:
    write(folder / "people.jsonl", [*(record(i) for i in range(50)), record(1, age=7731), record(2, age=-1)])
    done = shoal("run", "policy.yaml", "people.jsonl", "out.jsonl", "--trace", "trace.jsonl", "--strict")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"people.jsonl: row 51, 'age': {RANGE}\n"
    assert files(folder) == {"policy.yaml", "people.jsonl"}


def test_all_problems_of_a_policy_in_one_go(folder: Path, shoal: Shoal) -> None:
    wrong = "persn: pid\nattributes: {age: {quasi: numeric}}\nprivacy: {k: 0}\nwindow: {}\nalgorithm: []\n"
    (folder / "policy.yaml").write_text(wrong)
    done = shoal("run", "policy.yaml", "people.jsonl", "out.jsonl")
    assert (done.returncode, done.stdout) == (2, "")
    assert all(line.startswith("policy.yaml: ") for line in done.stderr.splitlines())
    assert [line.split(": ")[1] for line in done.stderr.splitlines()] == [
        "persn",
        "person",
        "attributes.age.range",
        "privacy.k",
        "window",
        "algorithm",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("none.yaml", "people.jsonl", "out.jsonl"), "none.yaml: does not exist; correct the path"),
        (
            ("policy.yaml", "none.jsonl", "out.jsonl"),
            "none.jsonl: cannot be read (no such file or directory); check the name and the permissions",
        ),
        (("policy.yaml", "people.jsonl", "people.jsonl"), "input, output, trace and bags must be different files"),
    ],
)
def test_what_cannot_be_used_is_one_line(shoal: Shoal, arguments: tuple[str, ...], told: str) -> None:
    done = shoal("run", *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{told}\n")


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet", "out.arrow", "out.jsonl.gz"])
def test_each_suffix_goes_out_and_in_again(folder: Path, shoal: Shoal, name: str) -> None:
    assert shoal("run", "policy.yaml", "people.jsonl", name).returncode == 0
    assert name in files(folder)
