"""What becomes of suppressed rows: all three forms, and violations of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.audit import Report, audit
from tests.audit.stream import Case, K, broken, policy, read, records, write

ROOT: dict[str, Any] = {"age": [0, 100], "pulse": [40, 200], "city": "Europe"}
NO_REUSE = {"reuse_limit": 0}
KINDS = ("publish", "blank", "drop")


def case(folder: Path, suppressed: str) -> Case:
    """A good run of a stream that ends with too few persons, so that its last rows are suppressed."""
    chosen = policy(suppressed=suppressed, parameters=NO_REUSE)
    source, target, trace = folder / "in.jsonl", folder / "out.jsonl", folder / "trace.jsonl"
    lines = [record for record in records(300) if record["age"] != 333]
    write(source, [*lines, *({**lines[0], "pid": "last", "note": 1000 + n} for n in range(60))])
    stats = shoal.run(chosen, source, target, trace=trace)
    assert isinstance(stats, shoal.anonymizer.Stats) and stats.suppressed > K
    return Case(chosen, source, target, trace, read(target), read(trace))


def hidden(found: Case) -> list[int]:
    """The lines of the trace that tell of suppressed tuples."""
    return [line for line, each in enumerate(found.trace) if each["how"] == "suppressed"]


def said(report: Report, promise: str) -> list[str]:
    assert broken(report) == [promise]
    return [str(violation) for violation in report[promise].violations]


@pytest.mark.parametrize("suppressed", KINDS)
@pytest.mark.parametrize("traced", [True, False])
def test_a_good_output_holds(suppressed: str, traced: bool, tmp_path: Path) -> None:
    good = case(tmp_path, suppressed)
    report = good.report(traced)
    assert broken(report) == []
    outside = len(hidden(good))
    assert report.rows["suppressed"] == outside
    assert report.headline.outside.startswith(f"{outside} of {len(good.trace)} rows (")
    assert "OUTSIDE k" in report.headline.outside


def test_publish_shows_the_values_of_a_suppressed_row(tmp_path: Path) -> None:
    good = case(tmp_path, "publish")
    shown = [good.output[line] for line in hidden(good)]
    assert all(row["note"] is not None for row in shown)
    assert [{name: row[name] for name in ROOT} for row in shown] == [ROOT] * len(shown)


def test_blank_shows_none_of_them(tmp_path: Path) -> None:
    good = case(tmp_path, "blank")
    assert len(good.output) == len(good.trace)
    for line in hidden(good):
        assert good.output[line] == {**dict.fromkeys(good.output[line]), **ROOT}


def test_drop_leaves_the_row_out_and_the_trace_tells_of_it(tmp_path: Path) -> None:
    good = case(tmp_path, "drop")
    assert len(good.output) == len(good.trace) - len(hidden(good))
    assert good.report()["once"].figures["dropped"] == len(hidden(good))


@pytest.mark.parametrize("field", ["illness", "note", "ts"])
def test_a_suppressed_row_that_shows_a_value_under_blank(field: str, tmp_path: Path) -> None:
    bad = case(tmp_path, "blank")
    line = next(each for each in hidden(bad) if read(bad.source)[bad.trace[each]["row"]][field] is not None)
    row = bad.trace[line]["row"]
    bad.output[line][field] = read(bad.source)[row][field]
    place = f"output row {line + 1}, input row {row + 1}, '{field}'"
    assert said(bad.report(), "unaltered") == [f"{place}: the tuple is suppressed, but its value is shown"]


def test_a_row_that_is_missing_under_blank(tmp_path: Path) -> None:
    bad = case(tmp_path, "blank")
    line = hidden(bad)[-1]
    row = bad.trace[line]["row"]
    del bad.output[line]
    assert said(bad.report(), "once") == [f"input row {row + 1}: left by the trace, but is not in the output"]


def test_a_suppressed_row_that_is_blank_under_publish(tmp_path: Path) -> None:
    bad = case(tmp_path, "publish")
    line = hidden(bad)[0]
    row = bad.trace[line]["row"]
    bad.output[line]["note"] = None
    assert said(bad.report(), "unaltered") == [
        f"output row {line + 1}, input row {row + 1}, 'note': the value is not the one that came"
    ]


def test_rows_that_are_there_under_drop(tmp_path: Path) -> None:
    bad, kept = case(tmp_path, "drop"), []
    shown = iter(bad.output)
    for line in bad.trace:
        blank: dict[str, Any] = {**dict.fromkeys(bad.output[0]), **ROOT}
        kept.append(blank if line["how"] == "suppressed" else next(shown))
    bad.output = kept
    found = bad.report()["once"]
    assert found.broken == len(hidden(bad))
    assert str(found.violations[0]).endswith("is suppressed, and in the output although the policy drops such rows")


def test_a_row_of_a_group_that_is_missing_under_drop(tmp_path: Path) -> None:
    bad = case(tmp_path, "drop")
    line = bad.group()[0]
    assert all(each["how"] != "suppressed" for each in bad.trace[:line])
    del bad.output[line]
    assert said(bad.report(), "once") == [
        f"input row {bad.trace[line]['row'] + 1}: left by the trace, but is not in the output"
    ]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("lanes", [1, 2])
def test_every_format_and_lane_hides_them(suffix: str, lanes: int, tmp_path: Path) -> None:
    found = case(tmp_path, "blank")
    target, trace = tmp_path / f"out.{suffix}", tmp_path / "again.jsonl"
    for suppressed in KINDS:
        chosen = policy(suppressed=suppressed, lanes=lanes, parameters=NO_REUSE)
        stats = shoal.run(chosen, found.source, target, trace=trace)
        report = audit(chosen, found.source, target, trace)
        assert broken(report) == [], suppressed
        assert report.rows["suppressed"] == stats.suppressed > 0  # type: ignore[union-attr]
        assert report.rows["output"] == report.rows["accepted"] - (stats.suppressed if suppressed == "drop" else 0)  # type: ignore[union-attr]


def test_a_dictionary_holds_no_value_of_a_suppressed_row(tmp_path: Path) -> None:
    import pyarrow as pa

    chosen = policy(suppressed="blank", parameters=NO_REUSE)
    lines = [{**record, "age": 50, "illness": "flu"} for record in records(200)]
    table = pa.Table.from_pylist([*lines, *({**lines[0], "pid": "last", "illness": "rare"} for _ in range(60))])
    coded = table.set_column(table.schema.names.index("illness"), "illness", table.column("illness").dictionary_encode())
    published = shoal.anonymize(coded, chosen)
    illness = published.column("illness").combine_chunks()
    assert illness.null_count > 0
    assert pa.types.is_dictionary(illness.type)
    assert set(illness.dictionary.to_pylist()) == {value for value in illness.to_pylist() if value is not None}
