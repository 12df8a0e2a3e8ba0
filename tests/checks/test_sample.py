from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from checks.base import MAYBE, attribute, found, policy, record
from shoal.checks import Findings, check
from shoal.formats import open_writer

GOOD = [record(i) for i in range(100)]


def test_data_that_fits(tmp_path: Path) -> None:
    assert found(tmp_path, GOOD) == Findings(warnings=(MAYBE,), rows=100, complete=True)


def test_a_sample_is_the_first_rows(tmp_path: Path) -> None:
    later = [*GOOD, record(0, age="7731"), *GOOD]
    assert found(tmp_path, later, rows=100) == Findings(warnings=(MAYBE,), rows=100, complete=False)
    assert found(tmp_path, later, rows=201).complete
    assert not found(tmp_path, later, rows=101).ok


REMEDY = "correct its name, remove it from the policy, or list it under input.optional"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"age": 7731}, "'age', 2 of 100 rows, first row 5: outside [0, 100] (value withheld); widen the range"),
        ({"age": "x7731"}, "'age', 2 of 100 rows, first row 5: not a number (value withheld)"),
        ({"age": "-inf"}, "'age', 2 of 100 rows, first row 5: infinite; give a finite number or leave it out"),
        ({"city": "x7731"}, "'city', 2 of 100 rows, first row 5: not in its hierarchy (value withheld); add it"),
        ({"pid": None}, "'pid', 2 of 100 rows, first row 5: the person is missing; give one or set person_missing"),
        ({"pid": " "}, "'pid', 2 of 100 rows, first row 5: the person is missing; give one or set person_missing"),
    ],
)
def test_rows_that_would_be_rejected(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    findings = found(tmp_path, [record(i, **(changes if i in (4, 77) else {})) for i in range(100)])
    assert len(findings.problems) == 1
    assert findings.problems[0].startswith(problem)
    assert "7731" not in str(findings)


def test_every_problem_of_a_row_counts(tmp_path: Path) -> None:
    findings = found(tmp_path, [*GOOD, record(0, age=-1, city="x", pid=None), "{broken"])
    assert [problem.split(":")[0] for problem in findings.problems] == [
        "1 of 102 rows, first row 102",
        "'pid', 1 of 102 rows, first row 101",
        "'age', 1 of 102 rows, first row 101",
        "'city', 1 of 102 rows, first row 101",
    ]


@pytest.mark.parametrize(
    ("changes", "time", "reason"),
    [
        ({"ts": "7731st"}, None, "not a time (value withheld); give seconds or ISO 8601"),
        ({"ts": None}, None, "the time is missing; every record needs one"),
    ],
)
def test_times(tmp_path: Path, changes: dict[str, Any], time: None, reason: str) -> None:
    records = [record(i, ts=i, **({} if i != 4 else changes)) if i != 4 else record(i, **changes) for i in range(100)]
    assert found(tmp_path, records, policy(time={"field": "ts"})).problems == (f"'ts', 1 of 100 rows, first row 5: {reason}",)


def test_columns_without_values(tmp_path: Path) -> None:
    by = attribute("job", quasi="categorical", hierarchy={"any": ["a", "b"]})
    for absent in ({}, {"job": None}):
        findings = found(tmp_path, [record(i, **absent) for i in range(100)], by)
        assert findings.problems == (f"'job': absent, or null, in all 100 rows; {REMEDY}",)
    findings = found(tmp_path, [record(i, job="") for i in range(100)], by)
    assert findings.problems == ("'job': missing in all 100 rows; remove it from the policy or fill it",)


def test_a_kept_attribute_without_values(tmp_path: Path) -> None:
    findings = found(tmp_path, GOOD, attribute("note", publish="keep"))
    assert findings.problems == (f"'note': absent, or null, in all 100 rows; {REMEDY}",)


def test_what_the_policy_lets_pass_is_told(tmp_path: Path) -> None:
    odd = [*GOOD, record(0, age=101), record(1, city="Atlantis"), record(2, pid=None)]
    findings = found(tmp_path, odd, attribute("age", out_of_range="clip"))
    assert "'age', 1 of 103 rows, first row 101: outside its range, and clipped" in findings.warnings
    findings = found(tmp_path, odd, attribute("city", unknown="root"))
    assert "'city', 1 of 103 rows, first row 102: not in its hierarchy, and published as the root" in findings.warnings
    findings = found(tmp_path, odd, policy(person_missing="own"))
    assert "'pid', 1 of 103 rows, first row 103: without a person, and each its own" in findings.warnings


def test_nulls_in_quasi_identifiers(tmp_path: Path) -> None:
    findings = found(tmp_path, [record(i, **({"age": None} if i % 4 == 0 else {})) for i in range(100)])
    assert findings.ok
    assert findings.warnings[-1] == ("missing in part of the rows: 'age' 25 %; under maybe match, a null stands for any value")


def test_a_kept_attribute_that_singles_out(tmp_path: Path) -> None:
    findings = found(tmp_path, [record(i, disease=f"secret {i}") for i in range(100)])
    assert not findings.ok
    assert findings.problems[0].startswith("'disease': 100 of 100 rows have a value that fewer than ")
    assert "secret" not in " ".join(findings.problems)


def test_a_numeric_quasi_identifier_without_a_grid(tmp_path: Path) -> None:
    by = policy(attributes={"age": {"quasi": "numeric", "range": [0, 100]}})
    assert "attributes.age.grid: without one" in found(tmp_path, GOOD, by).warnings[0]


def test_no_records(tmp_path: Path) -> None:
    assert found(tmp_path, []).problems == ("the input has no records",)


def test_only_malformed_records(tmp_path: Path) -> None:
    assert found(tmp_path, ["{"] * 3).problems == ("3 of 3 rows, first row 1: malformed JSON; give one object per line",)


def test_few_records(tmp_path: Path) -> None:
    findings = found(tmp_path, GOOD[:25])
    assert findings.ok
    assert findings.warnings[-1] == "only 25 rows in all: few groups of k=3 can form, and those will be wide"


@pytest.mark.parametrize("name", ["people.csv", "people.parquet", "people.arrow", "people.jsonl.gz"])
def test_each_format(tmp_path: Path, name: str) -> None:
    with open_writer(str(tmp_path / name)) as writer:
        writer.write(pa.RecordBatch.from_pylist([*GOOD, record(0, age=7731)]))
    findings = check(policy(), tmp_path / name)
    place = "line 102" if name.endswith(".csv") else "row 101"
    assert [problem.split(":")[0] for problem in findings.problems] == [f"'age', 1 of 101 rows, first {place}"]


def test_values_of_any_type(tmp_path: Path) -> None:
    columns = {
        "lists": [[i] for i in range(100)],
        "structs": [{"a": i} for i in range(100)],
        "bytes": [bytes([i + 128]) for i in range(100)],
    }
    table = pa.table({**pa.RecordBatch.from_pylist(GOOD).to_pydict(), **columns})
    pyarrow.parquet.write_table(table, tmp_path / "people.parquet")
    by = policy(attributes={**policy().attributes, **{name: {"publish": "keep"} for name in columns}})
    assert check(by, tmp_path / "people.parquet").rows == 100
