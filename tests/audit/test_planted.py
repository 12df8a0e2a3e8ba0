"""A violation is planted in a good output, and the audit names exactly that one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

import shoal
from shoal.audit import Report, audit
from shoal.errors import InputError
from tests.audit.stream import Case, K, broken, case, read, write

ROOT: dict[str, Any] = {"age": [0, 100], "pulse": [40, 200], "city": "Europe"}


def the_only(report: Report, promise: str) -> list[str]:
    """What the audit says, if it says it of this promise alone."""
    assert broken(report) == [promise]
    assert not report.held
    return [str(violation) for violation in report[promise].violations]


def outsider(bad: Case, row: int, field: str) -> Any:
    """The original value of what an output row shows."""
    return read(bad.source)[bad.trace[row]["row"]][field]


def wide(bad: Case, field: str) -> int:
    return next(row for row, line in enumerate(bad.output) if line[field] is not None)


def test_an_interval_that_is_too_narrow(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = wide(bad, "pulse")
    value = min(200.0, max(40.0, outsider(bad, row, "pulse")))
    bad.output[row]["pulse"] = [value - 5, value - 1] if value > 50 else [value + 1, value + 5]
    messages = the_only(bad.report(), "true")
    source = bad.trace[row]["row"]
    assert messages == [f"output row {row + 1}, input row {source + 1}, 'pulse': the value lies outside what is published"]


@pytest.mark.parametrize(("city", "shown"), [("Paris", "Norway"), ("Oslo", "France")])
def test_a_node_that_is_too_low(city: str, shown: str, tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = next(row for row, line in enumerate(bad.trace) if outsider(bad, row, "city") == city and line["how"] == "cluster")
    bad.output[row]["city"] = shown
    found = the_only(bad.report(), "true")
    assert found == [
        f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}, 'city': the value lies outside what is published"
    ]


def test_a_value_that_became_null(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = wide(bad, "age")
    bad.output[row]["age"] = None
    report = bad.report()
    assert the_only(report, "true") == [
        f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}, 'age': the value became null"
    ]
    figures = report["true"].figures
    assert figures["missing_published"] == figures["missing"] + 1 - figures_hidden(bad)


def figures_hidden(bad: Case) -> int:
    """How many missing values suppressed tuples show as a root."""
    return sum(
        outsider(bad, row, field) in (None, "?", -1)
        for row, line in enumerate(bad.trace)
        if line["how"] == "suppressed"
        for field in ROOT
    )


def test_a_missing_value_that_became_a_value(tmp_path: Path) -> None:
    bad = case(tmp_path)
    group = next(
        rows
        for rows in bad.groups()
        if any(bad.output[row]["pulse"] is None for row in rows) and any(bad.output[row]["pulse"] for row in rows)
    )
    shown = next(bad.output[row]["pulse"] for row in group if bad.output[row]["pulse"])
    row = next(row for row in group if bad.output[row]["pulse"] is None)
    bad.output[row]["pulse"] = shown
    messages = the_only(bad.report(), "true")
    assert messages == [f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}, 'pulse': a missing value became a value"]


def test_a_suppressed_tuple_that_shows_its_nulls(tmp_path: Path) -> None:
    bad = case(tmp_path, "fast")
    row = bad.row("suppressed")
    bad.output[row]["city"] = None
    messages = the_only(bad.report(), "true")
    source = bad.trace[row]["row"]
    assert messages == [
        f"output row {row + 1}, input row {source + 1}, 'city': the tuple is suppressed, but does not show the root"
    ]


def test_counts_of_an_imputed_group(tmp_path: Path) -> None:
    bad = case(tmp_path, "iot")
    row = next(row for row, line in enumerate(bad.output) if isinstance(line["age"], dict))
    for other, line in enumerate(bad.trace):
        if line["cluster"] == bad.trace[row]["cluster"]:
            bad.output[other]["age"] = {**bad.output[other]["age"], "had": 0}
    messages = the_only(bad.report(), "true")
    assert all(line.endswith("'age': the counts of an imputed group are wrong") for line in messages)


@pytest.mark.parametrize("algorithm", ["fads", "castle", "xband"])
def test_a_member_with_a_generalization_of_its_own(algorithm: str, tmp_path: Path) -> None:
    bad = case(tmp_path, algorithm)
    group = bad.group()
    row = next(row for row in group if bad.output[row]["age"] and bad.output[row]["age"] != [0, 100])
    bad.output[row]["age"] = [0, 100]
    messages = the_only(bad.report(), "alike")
    assert messages == [
        f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}, 'age': shows another generalization than its group"
    ]


def test_a_reuse_that_wears_something_else(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = next(
        row for row, line in enumerate(bad.trace)
        if line["how"] == "reuse" and bad.output[row]["city"] not in (None, "Europe")
    )  # fmt: skip
    bad.output[row]["city"] = "Europe"
    messages = the_only(bad.report(), "alike")
    source = bad.trace[row]["row"]
    assert messages == [f"output row {row + 1}, input row {source + 1}, 'city': shows another generalization than its group"]


def test_a_dropped_line(tmp_path: Path) -> None:
    bad = case(tmp_path)
    del bad.output[100]
    messages = the_only(bad.report(), "once")
    assert len(messages) == 1
    assert messages[0].endswith("left by the trace, but is not in the output")


def test_several_dropped_lines(tmp_path: Path) -> None:
    bad = case(tmp_path)
    for row in (300, 200, 199, 17):
        del bad.output[row]
    report = bad.report()
    assert broken(report) == ["once"]
    assert report["once"].broken == 4


def test_a_dropped_line_whose_release_is_dropped_too(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = bad.row("reuse")
    source = bad.trace[row]["row"]
    del bad.output[row], bad.trace[row]
    assert the_only(bad.report(), "once") == [f"input row {source + 1}: never left"]


def test_a_dropped_line_without_a_trace(tmp_path: Path) -> None:
    bad = case(tmp_path)
    del bad.output[100]
    assert the_only(bad.report(traced=False), "once") == ["394 rows left, but 395 records were accepted"]


def test_a_line_that_is_published_twice(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.output.insert(100, dict(bad.output[100]))
    assert the_only(bad.report(), "once") == ["output row 102: the trace has no line for it"]


def test_a_tuple_that_left_twice(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.output.insert(101, dict(bad.output[100]))
    bad.trace.insert(101, dict(bad.trace[100]))
    assert the_only(bad.report(), "once") == [f"output row 102, input row {bad.trace[100]['row'] + 1}: left before"]


def test_a_rejected_record_that_left(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.output.append({**dict.fromkeys(bad.output[0]), **ROOT})
    bad.trace.append({**bad.trace[-1], "row": 97, "how": "suppressed", "cluster": None})
    assert the_only(bad.report(), "once") == ["output row 396: left, but is no accepted record"]


def suppress(bad: Case, row: int) -> None:
    bad.output[row].update({**dict.fromkeys(bad.output[row]), **ROOT})
    bad.trace[row].update(how="suppressed", cluster=None)


def test_a_group_of_fewer_than_k(tmp_path: Path) -> None:
    bad = case(tmp_path)
    group = bad.group()
    assert len(group) == K
    cluster = bad.trace[group[0]]["cluster"]
    suppress(bad, group[-1])
    report = bad.report()
    messages = the_only(report, "k persons")
    left = group[:-1]
    assert messages[: K - 1] == [
        f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}: left in a group of fewer than k=4 persons"
        for row in left
    ]
    reuses = [row for row, line in enumerate(bad.trace) if line["cluster"] == cluster and line["how"] == "reuse"]
    assert report["k persons"].broken == K - 1 + len(reuses)
    assert report["k persons"].figures["smallest"] == K - 1


def test_k_tuples_of_fewer_persons(tmp_path: Path) -> None:
    bad = case(tmp_path)
    group = bad.group()
    lines = read(bad.source)
    lines[bad.trace[group[0]]["row"]]["pid"] = f" {lines[bad.trace[group[1]]['row']]['pid']} "
    write(bad.source, lines)
    report = bad.report()
    assert the_only(report, "k persons")
    assert report["k persons"].broken >= K


def test_a_group_that_a_later_tuple_completes(tmp_path: Path) -> None:
    bad = case(tmp_path)
    group = bad.group()
    last = group[-1]
    bad.output.insert(last + 2, bad.output.pop(last))
    moved = bad.trace.pop(last)
    moved["released"] = bad.trace[last + 1]["released"]
    bad.trace.insert(last + 2, moved)
    messages = the_only(bad.report(), "k persons")
    assert [line.split(",")[0] for line in messages[: K - 1]] == [f"output row {row + 1}" for row in group[:-1]]


def test_a_reuse_of_a_group_that_never_was(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = bad.row("reuse")
    bad.trace[row]["cluster"] = 9999
    messages = the_only(bad.report(), "k persons")
    assert messages == [
        f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}: reuses a group that was not published before"
    ]


def test_a_reuse_before_its_group(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = bad.row("reuse")
    first = next(i for i, line in enumerate(bad.trace) if line["cluster"] == bad.trace[row]["cluster"])
    shown, line = bad.output.pop(row), bad.trace.pop(row)
    bad.output.insert(first, shown)
    bad.trace.insert(first, {**line, "released": line["arrived"]})
    found = the_only(bad.report(), "k persons")
    assert found == [f"output row {first + 1}, input row {line['row'] + 1}: reuses a group that was not published before"]


def test_a_class_that_is_too_small_without_a_trace(tmp_path: Path) -> None:
    bad = case(tmp_path, complete=True)
    row = bad.row("reuse")
    bad.output[row].update(age=[35, 40], pulse=[61, 62], city="Valletta")
    assert the_only(bad.report(traced=False), "k persons") == [f"output row {row + 1}: fewer than k=4 rows look like it"]


def test_a_late_tuple(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = bad.row("reuse")
    bad.trace[row]["released"] = bad.trace[row]["arrived"] + 61
    messages = the_only(bad.report(), "in time")
    assert messages == [f"output row {row + 1}, input row {bad.trace[row]['row'] + 1}: left past its deadline of 60 arrivals"]


def test_a_late_group_in_seconds(tmp_path: Path) -> None:
    bad = case(tmp_path, window="time")
    group = bad.group()
    newest = max(bad.trace[row]["arrived"] for row in group)
    for row in group:
        bad.trace[row]["released"] = newest + 42
    report = bad.report()
    assert {line.split(":")[1] for line in the_only(report, "in time")} == {" left past its deadline of 40 seconds"}
    assert report["in time"].figures["late"] == len(group)


def test_a_trace_that_lies_about_an_arrival(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.trace[30]["arrived"] += 1
    messages = the_only(bad.report(), "in time")
    source = bad.trace[30]["row"]
    assert messages == [f"output row 31, input row {source + 1}: the trace gives it another arrival than the input"]


def test_a_trace_that_lies_about_an_arrival_in_seconds(tmp_path: Path) -> None:
    bad = case(tmp_path, window="time")
    row = next(row for row, line in enumerate(bad.trace) if line["released"] - line["arrived"] > 6)
    source = bad.trace[row]["row"]
    bad.trace[row]["arrived"] += 5
    messages = the_only(bad.report(), "in time")
    assert messages == [
        f"output row {row + 1}, input row {source + 1}: according to the trace, it arrived after a record that came later"
    ]
    bad.trace[row]["arrived"] -= 6
    messages = the_only(bad.report(), "in time")
    assert f"output row {row + 1}, input row {source + 1}: according to the trace, it arrived before its own time" in messages


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("illness", "plague", "'illness': the value is not the one that came"),
        ("note", -7, "'note': the value is not the one that came"),
        ("ts", 12, "'ts': the value is not the one that came"),
    ],
)
def test_an_altered_value(field: str, value: object, said: str, tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.output[77][field] = value
    assert the_only(bad.report(), "unaltered") == [f"output row 78, input row {bad.trace[77]['row'] + 1}, {said}"]


def test_an_altered_value_without_a_trace(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.output[77]["illness"] = "plague"
    assert the_only(bad.report(traced=False), "unaltered") == ["'illness': the values are not those of the input"]


def leak(**fields: object) -> Callable[[Case], None]:
    def plant(bad: Case) -> None:
        for line in bad.output:
            line.update(fields)

    return plant


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        (leak(shoe=44), "'shoe': the policy does not list this field"),
        (leak(pid="p1"), "'pid': the person's field is published"),
    ],
)
@pytest.mark.parametrize("traced", [True, False])
def test_a_leaked_field(plant: Callable[[Case], None], said: str, traced: bool, tmp_path: Path) -> None:
    bad = case(tmp_path)
    plant(bad)
    assert the_only(bad.report(traced), "silent") == [said]


def test_a_field_leaked_on_one_line_alone(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.output[200]["shoe"] = 44
    assert the_only(bad.report(), "silent") == ["'shoe': the policy does not list this field"]


def test_a_field_leaked_inside_another(tmp_path: Path) -> None:
    bad = case(tmp_path, "iot")
    row = next(row for row, line in enumerate(bad.output) if isinstance(line["age"], dict))
    bad.output[row]["age"]["pid"] = "p1"
    assert the_only(bad.report(), "silent") == ["'age.pid': the policy does not list this field"]


def test_a_raw_value_instead_of_an_interval(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = wide(bad, "age")
    bad.output[row]["age"] = outsider(bad, row, "age")
    report = bad.report(traced=False)
    assert str(report["silent"].violations[0]) == f"output row {row + 1}, 'age': what is published is not an interval"


@pytest.mark.parametrize(
    ("lower", "higher", "said"),
    [
        (1, 0, "an end of the interval is not on the grid"),
        (0, 1, "an end of the interval is not on the grid"),
        (1000, 0, "the interval leaves the range"),
        (0, 1000, "the interval leaves the range"),
    ],
)
def test_an_end_beside_the_grid_or_the_range(lower: int, higher: int, said: str, tmp_path: Path) -> None:
    bad = case(tmp_path)
    group = next(group for group in bad.groups() if any(0 < (bad.output[row]["age"] or [0])[0] < 90 for row in group))
    cluster = bad.trace[group[0]]["cluster"]
    for shown, line in zip(bad.output, bad.trace, strict=True):
        if line["cluster"] == cluster and shown["age"] is not None:
            shown["age"] = [shown["age"][0] - lower, shown["age"][1] + higher]
    assert said in the_only(bad.report(), "silent")[0]


def test_an_absent_field(tmp_path: Path) -> None:
    bad = case(tmp_path)
    for line in bad.output:
        del line["illness"]
    assert the_only(bad.report(), "unaltered") == ["'illness': the output does not have this field"]


def test_a_value_that_only_the_dictionary_holds(tmp_path: Path) -> None:
    bad = case(tmp_path)
    table = pa.Table.from_pylist(bad.output)
    illness = table.column("illness").combine_chunks().dictionary_encode()
    more = pa.concat_arrays([illness.dictionary, pa.array(["plague"])])
    leaking = pa.DictionaryArray.from_arrays(illness.indices, more)
    table = table.set_column(table.schema.get_field_index("illness"), "illness", leaking)
    for target in (tmp_path / "out.parquet", tmp_path / "out.arrow"):
        if target.suffix == ".parquet":
            pa.parquet.write_table(table, target)
        else:
            with pa.OSFile(str(target), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
                writer.write_table(table)
        messages = the_only(audit(bad.policy, bad.source, target, bad.trace_file), "silent")
        assert messages == ["'illness': the file holds values in its dictionary that no row shows"]


@pytest.mark.parametrize("nested", ["struct", "list"])
def test_a_value_that_only_a_dictionary_inside_a_kept_value_holds(nested: str, tmp_path: Path) -> None:
    bad = case(tmp_path)
    table = pa.Table.from_pylist(bad.output)
    place = table.schema.get_field_index("note")
    notes = table.column("note").cast(pa.string()).combine_chunks().dictionary_encode()

    def wrapped(coded: pa.Array) -> pa.Array:
        return pa.StructArray.from_arrays([coded], ["a"]) if nested == "struct" else pa.ListArray.from_arrays(rows, coded)

    rows = list(range(len(notes) + 1))
    leaking = pa.DictionaryArray.from_arrays(notes.indices, pa.concat_arrays([notes.dictionary, pa.array(["p17"])]))
    for coded, said in ((notes, []), (leaking, ["'note': the file holds values in its dictionary that no row shows"])):
        whole = table.set_column(place, "note", wrapped(coded))
        report = audit(bad.policy, bad.source, pa.concat_tables([whole.slice(0, 200), whole.slice(200)]), bad.trace_file)
        assert [str(each) for each in report["silent"].violations] == said


def test_a_raw_value_under_a_name_that_comes_again(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.report()
    lines = bad.target.read_text().splitlines()
    lines[9] = '{"pulse": 77, ' + lines[9].removeprefix("{")
    bad.target.write_text("\n".join(lines))
    messages = the_only(audit(bad.policy, bad.source, bad.target, bad.trace_file), "silent")
    assert messages == ["'pulse (again)': the policy does not list this field"]


def test_a_column_that_comes_twice(tmp_path: Path) -> None:
    bad = case(tmp_path)
    target = tmp_path / "out.csv"
    shoal.run(bad.policy, bad.source, target)
    lines = target.read_text().splitlines()
    target.write_text("\n".join(f"{line},{'illness' if row == 0 else 'p7'}" for row, line in enumerate(lines)))
    messages = the_only(audit(bad.policy, bad.source, target, bad.trace_file), "silent")
    assert messages == ["'illness (again)': the policy does not list this field"]


def test_counts_where_nothing_is_imputed(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = wide(bad, "age")
    bad.output[row]["age"] = {"value": bad.output[row]["age"], "of": 4, "had": 4}
    assert "'age': bears counts of its group" in str(bad.report(traced=False)["silent"].violations[0])


def test_an_output_with_a_malformed_line(tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.report()
    lines = bad.target.read_text().splitlines()
    lines[9] = lines[9][:-5]
    bad.target.write_text("\n".join(lines))
    with pytest.raises(InputError, match=r"out.jsonl: row 10 is malformed; give the output as it was written"):
        audit(bad.policy, bad.source, bad.target, bad.trace_file)


def test_an_output_of_which_no_record_was_accepted(tmp_path: Path) -> None:
    bad = case(tmp_path)
    write(bad.source, [{"pid": None}])
    assert broken(bad.report()) == ["k persons", "once"]


def test_a_tuple_that_stands_behind_those_that_left_later(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = bad.row("reuse")
    bad.output.append(bad.output.pop(row))
    bad.trace.append(bad.trace.pop(row))
    last = len(bad.output) - 1
    messages = the_only(bad.report(), "in time")
    assert messages == [
        f"output row {last + 1}, input row {bad.trace[last]['row'] + 1}: according to the trace, it left out of order"
    ]


def test_phone_numbers_beside_a_grid(tmp_path: Path) -> None:
    chosen = shoal.Policy.parse(
        "{person: pid, attributes: {phone: {quasi: numeric, range: [0, 1.0e+11], grid: 10}}, privacy: {k: 2}, "
        "window: {count: 9}, algorithm: {name: fads}}"
    )
    people = pa.table({"pid": [1, 2], "phone": [31612345678, 31612345679]})
    trace = pa.table({"row": [0, 1], "how": ["cluster"] * 2, "cluster": [0, 0], "arrived": [0, 1], "released": [1, 1]})
    raw = pa.table({"phone": [[31612345678, 31612345679]] * 2})
    messages = the_only(audit(chosen, people, raw, trace), "silent")
    assert messages[0] == "output row 1, input row 1, 'phone': an end of the interval is not on the grid"
    assert audit(chosen, people, pa.table({"phone": [[31612345670, 31612345680]] * 2}), trace).held


@pytest.mark.parametrize("field", ["row", "cluster"])
@pytest.mark.parametrize("value", [0.5, -7, 2**62])
def test_a_trace_with_numbers_that_are_none(field: str, value: float, tmp_path: Path) -> None:
    bad = case(tmp_path)
    bad.trace[3][field] = value
    with pytest.raises(InputError, match="line 4 is not a line of a trace; give the trace of the run that wrote the output"):
        bad.report()


@pytest.mark.parametrize(("field", "secret"), [("city", "Jane lives in Oslo"), ("age", "[33, 33]")])
def test_a_value_that_only_the_dictionary_of_a_quasi_identifier_holds(field: str, secret: str, tmp_path: Path) -> None:
    bad = case(tmp_path)
    table = pa.Table.from_pylist(bad.output)
    texts = pa.array([each if isinstance(each, str | None) else str(each) for each in table.column(field).to_pylist()])
    coded = texts.dictionary_encode()
    for more, said in ((["Norway" if field == "city" else coded.dictionary[0].as_py()], False), ([secret], True)):
        leaking = pa.DictionaryArray.from_arrays(coded.indices, pa.concat_arrays([coded.dictionary, pa.array(more)]))
        report = audit(
            bad.policy, bad.source, table.set_column(table.schema.get_field_index(field), field, leaking), bad.trace_file
        )
        expected = [f"'{field}': the file holds values in its dictionary that no row shows"] if said else []
        assert [str(each) for finding in report.promises for each in finding.violations] == expected


def test_a_number_that_became_a_truth_value(tmp_path: Path) -> None:
    bad = case(tmp_path)
    row = next(row for row, line in enumerate(bad.output) if line["note"] == 1)
    bad.output[row]["note"] = True
    said = f"output row {row + 1}, input row 2, 'note': the value is not the one that came"
    assert the_only(bad.report(), "unaltered") == [said]


def test_an_output_of_malformed_lines_alone(tmp_path: Path) -> None:
    bad = case(tmp_path)
    source, target = tmp_path / "none.jsonl", tmp_path / "out.csv"
    source.touch()
    target.write_text("ts,age,pulse,city,illness,note\np17,33\np18,34\n")
    with pytest.raises(InputError, match=r"out\.csv: row 1 is malformed; give the output as it was written"):
        audit(bad.policy, source, target)


def test_a_second_stream_behind_the_first(tmp_path: Path) -> None:
    bad = case(tmp_path)
    target = tmp_path / "out.arrow"
    table, more = pa.Table.from_pylist(bad.output), pa.table({"pid": ["p17"]})
    with pa.OSFile(str(target), "wb") as file:
        with pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
        file.flush()
        assert audit(bad.policy, bad.source, target, bad.trace_file).held
        with pa.ipc.new_stream(file, more.schema) as writer:
            writer.write_table(more)
    with pytest.raises(InputError, match=r"out\.arrow: cannot be read; check that it is complete and of the kind"):
        audit(bad.policy, bad.source, target, bad.trace_file)
