"""Files that are made to bring the judge down: it reads them, or says why not, and never stumbles."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from shoal.audit import audit
from shoal.audit.files import blocks
from shoal.audit.textfiles import _numbered
from shoal.errors import InputError
from tests.audit import visits
from tests.audit.stage import Stage, said, stage
from tests.audit.stream import broken, case, judged, read, write

DEEP = "[" * 100_000


def test_a_cell_that_is_nested_deeper_than_can_be_read_is_no_interval(tmp_path: Path) -> None:
    bad = case(tmp_path)
    target = tmp_path / "out.parquet"
    table = pa.Table.from_pylist(bad.output)
    ages = [DEEP if row == 0 else str(age) for row, age in enumerate(table.column("age").to_pylist())]
    pa.parquet.write_table(table.set_column(table.schema.get_field_index("age"), "age", pa.array(ages)), target)
    report = audit(bad.policy, bad.source, target, bad.trace_file)
    assert "output row 1, input row" in str(report["silent"].violations[0])
    assert str(report["silent"].violations[0]).endswith("'age': what is published is not an interval")


@pytest.mark.parametrize("traced", [True, False])
def test_a_kept_value_that_is_nested_deeper_than_can_be_read_is_another(tmp_path: Path, traced: bool) -> None:
    bad = case(tmp_path)
    table = pa.Table.from_pylist(bad.output)
    notes = [DEEP if row == 0 else str(note) for row, note in enumerate(table.column("note").to_pylist())]
    table = table.set_column(table.schema.get_field_index("note"), "note", pa.array(notes))
    assert broken(audit(bad.policy, bad.source, table, bad.trace_file if traced else None)) == ["unaltered"]


def test_malformed_records_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,2\n" + "1,2,3\n" * 3 + "3,4\n5\n")
    assert [(block.line.tolist(), block.end) for block in blocks(tmp_path / "in.csv")] == [([0, 4], 6)]


def test_very_many_malformed_records_in_a_row() -> None:
    """Where each is looked for among all the others, this takes a quarter of an hour."""
    numbers, end = _numbered(0, 1, list(range(1, 300_001)))
    assert (numbers.tolist(), end) == ([0], 300_001)


def test_a_gzipped_file_with_a_damaged_block(tmp_path: Path) -> None:
    packed = zlib.compressobj(wbits=31)
    whole = packed.compress(b'{"a": 1}\n' * 50) + packed.flush()
    path = tmp_path / "in.jsonl.gz"
    path.write_bytes(whole[:10] + b"\xff" * 20 + whole[30:])
    with pytest.raises(InputError) as caught:
        list(blocks(path))
    assert str(caught.value) == f"{path}: cannot be read; check that it is complete and of the kind that its suffix says"


def two_groups(first: int, second: int) -> Stage:
    """Groups of such numbers, one of which lacks a pulse; in the second nobody shares the pattern of another."""
    scene = stage("ab" * 4, {"nulls_match": "maybe", "l": 1}, algorithm={"name": "iot"})
    scene.people[1]["pulse"] = None
    scene.leave(range(4), 3, cluster=first)
    scene.leave(range(4, 8), 7, cluster=second, age=[34, 37])
    for line in scene.output[:4]:
        line["pulse"] = {"value": [60, 80], "of": 4, "had": 3}
    for line in scene.output[4:]:
        line["pulse"] = {"value": [60, 80], "of": None, "had": None}
    return scene


def test_the_numbers_of_groups_may_be_large() -> None:
    """They go on for as long as a stream does, and room is made for the groups that are there."""
    small, large = two_groups(0, 1).report(), two_groups(2**52, 2**53).report()
    assert said(small) == {}
    assert judged(large) == judged(small)


@pytest.mark.parametrize("place", [0, 5, -1])
def test_a_malformed_line_of_a_trace_is_named(tmp_path: Path, place: int) -> None:
    bad = case(tmp_path)
    lines = bad.trace_file.read_text().splitlines()
    lines[place] = lines[place][:-5]
    bad.trace_file.write_text("\n".join(lines))
    with pytest.raises(InputError) as caught:
        audit(bad.policy, bad.source, bad.target, bad.trace_file)
    where = f"{bad.trace_file}: line {place % len(lines) + 1} is not a line of a trace"
    assert str(caught.value) == f"{where}; give the trace of the run that wrote the output"


@pytest.mark.parametrize(("field", "value"), [("row", 0.5), ("row", -1), ("z", 2.5), ("z", None), ("how", "kept")])
def test_a_trace_of_observations_with_numbers_that_are_none(
    field: str, value: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOAL_SECRET", visits.SECRET)
    bad = visits.case(tmp_path)
    bad.trace[3][field] = value
    with pytest.raises(InputError, match="line 4 is not a line of a trace; give the trace of the run that wrote the output"):
        bad.report()


def test_a_trace_of_csv_whose_last_record_is_cut(tmp_path: Path) -> None:
    bad = case(tmp_path)
    trace_file = tmp_path / "trace_file.csv"
    pa.csv.write_csv(pa.Table.from_pylist(read(bad.trace_file)), trace_file)
    trace_file.write_text(trace_file.read_text().rsplit(",", 1)[0] + "\n")
    with pytest.raises(InputError, match="is not a line of a trace"):
        audit(bad.policy, bad.source, bad.target, trace_file)
    write(bad.trace_file, bad.trace)
