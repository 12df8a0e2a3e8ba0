"""Marks on single rows of a text, whose values are what they should be: the way a row is written tells it apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.audit import Report, audit
from shoal.audit import form as forms
from shoal.policy import Policy
from tests.audit.stream import Case, broken, case

FORM = "is written in another form than the other rows"
WAY = "is written in another way than in other rows that show the same"
QUOTED = "is quoted in another way than in the other rows"


def first(bad: Case, field: str) -> int:
    """A row of a group whose rows show a value of this field."""
    return next(row for rows in bad.groups() for row in rows if bad.output[row][field] is not None)


def judged(bad: Case, row: int, changed: Callable[[str], str], traced: bool = True) -> Report:
    """The report after one line of the output was written in another way."""
    lines = bad.target.read_text().split("\n")
    assert changed(lines[row]) != lines[row]
    lines[row] = changed(lines[row])
    bad.target.write_text("\n".join(lines))
    return audit(bad.policy, bad.source, bad.target, bad.trace_file if traced else None)


def reversed_fields(line: str) -> str:
    return json.dumps(dict(reversed(json.loads(line).items())))


def without_nulls(line: str) -> str:
    return json.dumps({name: value for name, value in json.loads(line).items() if value is not None})


MARKS: dict[str, Callable[[str], str]] = {
    "another order of fields": reversed_fields,
    "a blank at the end": lambda line: f"{line} ",
    "a tab at the end": lambda line: f"{line}\t",
    "a blank at the beginning": lambda line: f" {line}",
    "another line end": lambda line: f"{line}\r",
    "no blank behind a comma": lambda line: line.replace(', "note"', ',"note"'),
    "an escaped key": lambda line: line.replace('"age"', r'"\u0061ge"'),
    "an escaped letter of another key": lambda line: line.replace('"note"', r'"not\u0065"'),
    "an escaped letter of a sensitive value": lambda line: line.replace('"illness": "a', r'"illness": "\u0061'),
    "an empty line before it": lambda line: f"\n{line}",
}  # fmt: skip


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("mark", MARKS)
def test_the_form_of_a_line(mark: str, traced: bool, tmp_path: Path) -> None:
    bad = case(tmp_path, complete=True)
    row = first(bad, "age")
    report = judged(bad, row, MARKS[mark], traced)
    where = f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}" if traced else f"output row {row + 1}"
    assert broken(report) == ["silent"]
    assert [str(each) for each in report["silent"].violations] == [f"{where}: {FORM}"]


def test_a_field_that_is_left_out_where_it_is_null(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = next(row for row, line in enumerate(bad.output) if line["illness"] is None)
    assert broken(judged(bad, row, without_nulls)) == ["silent"]


def written(field: str, change: Callable[[Any], str]) -> Callable[[str], str]:
    """A line in which the text of one field is another."""

    def changed(line: str) -> str:
        value = json.dumps(json.loads(line)[field], ensure_ascii=False)
        before = f'"{field}": {value}'
        assert before in line
        return line.replace(before, f'"{field}": {change(json.loads(value))}')

    return changed


WAYS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "zeros behind a point": ("age", lambda ends: f"[{ends[0]}.000, {ends[1]}]"),
    "an exponent": ("age", lambda ends: f"[{ends[0]}e0, {ends[1]}]"),
    "a blank inside": ("age", lambda ends: f"[{ends[0]},  {ends[1]}]"),
    "no blank inside": ("age", lambda ends: f"[{ends[0]},{ends[1]}]"),
    "an interval as text": ("age", lambda ends: f'"[{ends[0]}, {ends[1]}]"'),
    "an escaped letter": ("city", lambda label: f'"\\u{ord(label[0]):04x}{label[1:]}"'),
}


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_the_way_a_value_is_written(way: str, traced: bool, tmp_path: Path) -> None:
    bad = case(tmp_path, complete=True)
    field, change = WAYS[way]
    row = first(bad, field)
    report = judged(bad, row, written(field, change), traced)
    where = f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}, " if traced else f"output row {row + 1}, "
    assert broken(report) == ["alike"]
    assert [str(each) for each in report["alike"].violations] == [f"{where}'{field}': {WAY}"]


def in_csv(folder: Path) -> Case:
    good = case(folder, complete=True)
    target = folder / "out.csv"
    shoal.run(good.policy, good.source, target, trace=good.trace_file)
    good.target = target
    return good


CSV: dict[str, tuple[Callable[[str], str], str, str]] = {
    "zeros behind a point": (lambda line: line.replace(", ", ".000, ", 1), "alike", f"'age': {WAY}"),
    "a blank in a cell": (lambda line: line.replace(']",', '] ",', 1), "alike", f"'age': {WAY}"),
    "a label in quotes": (lambda line: line.replace("Europe", '"Europe"'), "alike", f"'city': {WAY}"),
    "a kept text in quotes": (lambda line: line.replace("flu", '"flu"'), "silent", f"'illness': {QUOTED}"),
    "another line end": (lambda line: f"{line}\r", "silent", FORM),
}


@pytest.mark.parametrize("mark", CSV)
def test_csv(mark: str, tmp_path: Path) -> None:
    bad = in_csv(tmp_path)
    change, promise, what = CSV[mark]
    lines = bad.target.read_text().split("\n")
    line = next(i for i, text in enumerate(lines) if i and change(text) != text and '"[0, 100]"' not in text)
    report = judged(bad, line, change)
    assert broken(report) == [promise]
    assert [str(each).endswith(what) for each in report[promise].violations] == [True]
    assert report[promise].violations[0].output_row == line - 1


def test_texts_over_several_lines_are_one_row(tmp_path: Path) -> None:
    """A kept text with line ends, quotes and commas is written in no other form."""
    policy = Policy.parse({
        "person": "pid", "attributes": {"age": {"quasi": "numeric", "range": [0, 100]}, "note": {"sensitive": True}},
        "privacy": {"k": 2}, "window": {"count": 10}, "algorithm": {"name": "fads"},
    })  # fmt: skip
    notes = ["plain", "a\nb", 'say "x", or', "", None, "é", '{"a": [1, {"b": 2}]}', "1.50"]
    rows = [{"pid": i, "age": i % 7, "note": notes[i % 8]} for i in range(80)]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("out.csv", "out.jsonl", "out.csv.gz"):
        shoal.run(policy, source, tmp_path / name, trace=tmp_path / "trace.jsonl")
        assert audit(policy, source, tmp_path / name, tmp_path / "trace.jsonl").held


def test_the_usual_form_is_that_of_most_lines_not_of_the_first(tmp_path: Path) -> None:
    bad = case(tmp_path, complete=True)
    report = judged(bad, 0, reversed_fields)
    assert [each.output_row for each in report["silent"].violations] == [0]


def test_rows_are_counted_over_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forms, "BYTES", 1000)
    bad = case(tmp_path, complete=True)
    row = bad.groups()[-1][-1]
    report = judged(bad, row, reversed_fields)
    assert [each.output_row for each in report["silent"].violations] == [row]
    assert report["silent"].broken == 1


TIMES: dict[str, Callable[[str], str]] = {
    "another zone": lambda line: line.replace("Z", "+00:00"),
    "a fraction": lambda line: line.replace("Z", ".000Z", 1),
    "a blank": lambda line: line.replace("T", " "),
    "one text": lambda line: line.replace('["', '"[').replace('", "', ", ", 1).replace('"]', ']"'),
}


@pytest.mark.parametrize("way", TIMES)
def test_a_time_that_one_row_writes_in_another_way(way: str, tmp_path: Path) -> None:
    policy = Policy.parse(
        """
        person: pid
        time: {field: at, publish: generalize, grid: 60}
        attributes: {age: {quasi: numeric, range: [0, 99]}}
        privacy: {k: 3}
        window: {count: 12}
        algorithm: {name: fads}
        """
    )
    source, target, trace = (tmp_path / f"{name}.jsonl" for name in ("in", "out", "trace"))
    source.write_text("".join(json.dumps({"pid": i, "at": f"2026-01-01T00:{i:02}:00Z", "age": i}) + "\n" for i in range(30)))
    shoal.run(policy, str(source), str(target), trace=str(trace))
    good = target.read_text()
    assert broken(audit(policy, source, target, trace)) == []
    lines = good.split("\n")
    changed = TIMES[way](lines[1])
    assert changed != lines[1]
    target.write_text("\n".join([lines[0], changed, *lines[2:]]))
    report = audit(policy, source, target, trace)
    assert broken(report) == ["alike"]
    assert [str(each).partition(", 'at': ")[2] for each in report["alike"].violations] == [WAY]


def test_labels_that_are_numbers_keep_their_form() -> None:
    assert forms.meaning('["1", "5"]') != forms.meaning('["01", "5"]')
    assert forms.meaning('["7", null]') == forms.meaning('"7 or missing"') != forms.meaning('"07 or missing"')
