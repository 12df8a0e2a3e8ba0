"""Questions to published files: CSV and JSON lines are read back as what Parquet and Arrow hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shoal import run
from shoal.errors import InputError
from shoal.query import Published, between, missing, one_of

POLICY = """
person: pid
time: {field: at, publish: generalize, grid: 60}
attributes:
  age: {quasi: numeric, range: [0, 99]}
  home: {quasi: categorical, hierarchy: {City: {South: [Canal, Meadow], North: [Hill, Dock]}}, generalize: set}
  job: {quasi: categorical, hierarchy: {any: {office: [clerk, judge], field: ["say \\"hi\\", smith", baker]}}}
  ill: {sensitive: true}
  note: {publish: keep}
privacy: {k: 3}
window: {count: 12}
algorithm: {name: fads}
"""
QUESTIONS = [
    between("age", 20, 50),
    one_of("home", "Canal"),
    one_of("home", "North") & between("age", 0, 60),
    one_of("job", "office"),
    one_of("job", 'say "hi", smith'),
    missing("age"),
    missing("home"),
    missing("job"),
    one_of("ill", "flu"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "policy.yaml").write_text(POLICY)
    records = [
        {
            "pid": i, "at": f"2026-01-01T00:{i:02}:00Z", "age": None if i % 5 == 0 else 20 + i,
            "home": None if i % 7 == 0 else ["Canal", "Meadow", "Hill", "Dock"][i % 4],
            "job": None if i % 3 == 0 else ["clerk", 'say "hi", smith', "baker"][i % 4 % 3],
            "ill": ["flu", "none"][i % 2], "note": ["a\u2028b", "x\ny", "z"][i % 3],
        }
        for i in range(40)
    ]  # fmt: skip
    (tmp_path / "in.jsonl").write_text("\n".join(json.dumps(record) for record in records), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("form", ["csv", "jsonl", "csv.gz", "jsonl.gz", "arrow"])
def test_every_format_gives_the_same_answers(folder: Path, form: str) -> None:
    policy, source = str(folder / "policy.yaml"), str(folder / "in.jsonl")
    for each in ("parquet", form):
        run(policy, source, str(folder / f"out.{each}"))
    typed, read = Published(folder / "out.parquet", policy), Published(str(folder / f"out.{form}"), policy)
    assert len(typed) == len(read) == 40
    for question in QUESTIONS:
        answer = typed.count(question)
        assert read.count(question) == answer and answer.high > 0
    assert read.quantile("age", 0.5, between("age", 0, 99)) == typed.quantile("age", 0.5, between("age", 0, 99))
    assert list(read.series("at", 600)) == list(typed.series("at", 600))


def test_what_cannot_be_read(folder: Path) -> None:
    (folder / "out.csv").write_text("at,age,home,job,ill,note\n,secret,Canal,clerk,flu,z\n")
    with pytest.raises(InputError) as refused:
        Published(folder / "out.csv")
    assert str(refused.value) == "a table in CSV or JSON lines has no types; give its policy too"
    with pytest.raises(InputError) as refused:
        Published(folder / "out.csv", folder / "policy.yaml")
    says = "a value is not written as the policy says (value withheld); give the policy of this output"
    assert str(refused.value) == f"age: {says}"
