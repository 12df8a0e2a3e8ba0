"""Under `nulls_match: blurred`: an honest output passes in every format, and a planted violation is named, no other with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.audit import Report, Verdict, WindowReport, audit
from shoal.audit.answers import _weights, answers
from shoal.audit.attacks import Attack
from shoal.audit.evidence import Evidence, gather
from shoal.audit.risk import Accepted
from tests.audit.blurred import FORMATS, ROOTS, Blurred, K, honest, structs
from tests.audit.stage import said


def blurred_group(*values: Any, field: str = "pulse", **privacy: Any) -> Blurred:
    """Groups of K persons, with these values of one quasi-identifier."""
    usual = {"pulse": 60, "city": "Oslo", "illness": "flu"}
    found = Blurred([{"pid": pid, "age": 40 + pid, **usual, field: value} for pid, value in enumerate(values)], privacy=privacy)
    for cluster in range(len(values) // K):
        found.leave([*range(cluster * K, cluster * K + K)], cluster)
    return found


def mixed() -> Blurred:
    """Three groups: in the first, row 1 lacks a pulse; in the second nobody does; in the third all do."""
    return blurred_group(60, None, 70, 80, 85, 90, None, None, None)


def evidence_of(made: Blurred) -> Evidence:
    people, trace = pa.Table.from_pylist(made.people), pa.Table.from_pylist(made.trace)
    return gather(made.policy, people, structs(made.output), trace)


def figures(report: Report) -> Any:
    assert isinstance(report, WindowReport)
    return report.figures


def attack(report: Report, name: str) -> Attack:
    found: Attack = next(each for each in figures(report).attacks if each.name == name)
    return found


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("traced", [True, False])
def test_an_honest_output_passes_in_every_format(form: str, traced: bool, tmp_path: Path) -> None:
    made = honest()
    states = {type(row["city"]) for row in made.output}
    assert states == {str, list, type(None)}
    report = made.report(tmp_path, form, traced)
    assert said(report) == {}
    if traced:
        assert {finding.verdict for finding in report.promises} == {Verdict.HELD}
    assert "support" in [finding.promise for finding in report.promises]
    assert json.loads(report.to_json())["figures"] == json.loads(made.report(traced=traced).to_json())["figures"]


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("form", FORMATS)
def test_an_output_without_doubts_passes_too(form: str, missing: int, tmp_path: Path) -> None:
    report = honest(missing=missing).report(tmp_path, form)
    assert said(report) == {}
    assert figures(report).utility.doubt == 0


Plant = Callable[[Blurred], None]


def line(row: int, what: str, field: str = "pulse") -> str:
    return f"output row {row + 1}, input row {row + 1}, '{field}': {what}"


def reuse(cluster: int, pulse: float | None) -> Plant:
    """Somebody with such a pulse reuses a group."""

    def plant(bad: Blurred) -> None:
        bad.people.append({**bad.people[cluster * K], "pid": 9, "pulse": pulse})
        bad.reuse(9, cluster)

    return plant


def suppress_in_doubt(bad: Blurred) -> None:
    bad.people.append({**bad.people[1], "pid": 9})
    bad.suppress(9)
    bad.show([9], pulse=[*ROOTS["pulse"], None])


OTHER = "shows another generalization than its group"
PLANTED: dict[str, tuple[Plant, str, list[str]]] = {
    "a member without the doubt": (lambda bad: bad.show([0], pulse=[60, 70]), "alike", [line(0, OTHER)]),
    "a member without a pulse, without the doubt": (
        lambda bad: bad.show([1], pulse=[60, 70]), "true", [line(1, "a missing value became a value")],
    ),
    "a lost doubt": (
        lambda bad: bad.show([0, 1, 2], pulse=[60, 70]),
        "true",
        [
            line(0, "is not in doubt, though a member of its group lacks it"),
            line(1, "a missing value became a value"),
            line(2, "is not in doubt, though a member of its group lacks it"),
        ],
    ),
    "a doubt where all have it": (
        lambda bad: bad.show([3, 4, 5], pulse=[80, 90, None]),
        "true",
        [line(row, "is in doubt, though all members of its group have it") for row in (3, 4, 5)],
    ),
    "most in doubt where all have it": (
        lambda bad: bad.show([3, 4], pulse=[80, 90, None]), "alike", [line(row, OTHER) for row in (3, 4)],
    ),
    "a value outside": (
        lambda bad: bad.show([0, 1, 2], pulse=[65, 70, None]), "true", [line(0, "the value lies outside what is published")],
    ),
    "a value shown as missing": (lambda bad: bad.show([2], pulse=None), "true", [line(2, "the value became null")]),
    "a member without a pulse that shows so": (
        lambda bad: bad.show([1], pulse=None), "alike", [line(1, "shows another pattern of nulls than its group")],
    ),
    "a reuse by one that lacks what is not in doubt": (reuse(1, None), "true", [line(9, "a missing value became a value")]),
    "a reuse by one that has what is missing": (reuse(2, 80), "true", [line(9, "the value became null")]),
    "a suppressed tuple in doubt": (
        suppress_in_doubt, "true", [line(9, "the tuple is suppressed, but does not show the root")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_violation_is_the_only_one(name: str, form: str, tmp_path: Path) -> None:
    plant, promise, expected = PLANTED[name]
    bad = mixed()
    assert said(bad.report(tmp_path, form)) == {}
    plant(bad)
    assert said(bad.report(tmp_path, form)) == {promise: expected}


@pytest.mark.parametrize("form", FORMATS)
def test_a_lone_value_that_is_shown(form: str, tmp_path: Path) -> None:
    bad = blurred_group(60, None, None)
    assert bad.output[1]["pulse"] == [40, 200, None]
    assert said(bad.report(tmp_path, form)) == {}
    bad.show([0, 1, 2], pulse=[60, 60, None])
    what = "is not the root, though fewer than min_support=2 persons of its group have it"
    assert said(bad.report(tmp_path, form)) == {"support": [line(row, what) for row in range(3)]}
    bad.privacy["min_support"] = 1
    assert said(bad.report(tmp_path, form)) == {}


def test_support_counts_persons_and_not_rows() -> None:
    bad = mixed()
    bad.people[3]["pid"] = bad.people[2]["pid"] = bad.people[0]["pid"]
    bad.privacy |= {"k": 2, "one_in_k": False}
    assert list(said(bad.report())) == ["support"]


@pytest.mark.parametrize("shown", [[60, 90, None], None])
def test_what_a_group_shows_that_no_member_has(shown: Any) -> None:
    bad = blurred_group(None, None, None)
    bad.show([0, 1, 2], pulse=shown)
    what = "is shown, though no member of its group has it"
    assert said(bad.report()) == ({"true": [line(row, what) for row in range(3)]} if shown else {})


def test_without_a_trace_a_doubt_tells_rows_apart() -> None:
    bad = mixed()
    bad.show([0], pulse=[60, 70])
    few = [f"output row {row + 1}: fewer than k=3 rows look like it" for row in (0, 1, 2)]
    assert said(bad.report(traced=False)) == {"k persons": few}


def test_without_a_trace_there_are_no_more_nulls_than_came() -> None:
    bad = mixed()
    bad.show([0, 1, 2], pulse=None)
    assert said(bad.report(traced=False)) == {"true": ["more values are null in the output than in the input"]}


def test_without_a_trace_roots_in_doubt_are_not_suppressed() -> None:
    made = blurred_group(60, None, None)
    made.show([0, 1, 2], **{name: ROOTS[name] for name in ("age", "city")})
    assert made.report(traced=False).rows["suppressed"] == 0


MALFORMED = {
    "pulse": (
        [60],
        [60, 70, False],
        [60, 70, 80],
        [None, 70, None],
        [60, 70, None, None],
        [None],
        "60 or missing",
        " or missing",
    ),
    "city": (
        ["Oslo"],
        ["Oslo", "Oslo"],
        ["Oslo", None, None],
        [None, None],
        ["Utopia", None],
        "Utopia or missing",
        " or missing",
    ),
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in MALFORMED.items() for value in values])
def test_a_malformed_value_is_no_interval_or_node(field: str, value: Any, tmp_path: Path) -> None:
    bad = mixed()
    bad.show([4], **{field: value})
    noun = "not an interval" if field == "pulse" else "not a node of the hierarchy"
    assert said(bad.report(tmp_path))["silent"] == [line(4, f"what is published is {noun}", field)]


@pytest.mark.parametrize("field", ["pulse", "city"])
def test_a_struct_must_say_whether_it_is_in_doubt(field: str) -> None:
    made = blurred_group(60, None, 70, 80, 85, 90)
    table = structs(made.output)
    values = table.column(field).to_pylist()
    noun = "not an interval" if field == "pulse" else "not a node of the hierarchy"
    for rows, change in (
        (range(6), lambda each: {name: part for name, part in each.items() if name != "or_missing"}),
        (range(6), lambda each: {**each, "or_missing": "no"}),
        ([2], lambda each: {**each, "or_missing": None}),
    ):
        changed = pa.array([change(each) if row in rows else each for row, each in enumerate(values)])
        bad = table.set_column(table.schema.get_field_index(field), field, changed)
        report = audit(made.policy, pa.Table.from_pylist(made.people), bad, pa.Table.from_pylist(made.trace))
        assert said(report)["silent"] == [line(row, f"what is published is {noun}", field) for row in rows]


@pytest.mark.parametrize("city", [["Oslo"], [None], {"value": None, "or_missing": False}, {"or_missing": False}])
def test_a_label_that_is_none_in_every_row(city: Any) -> None:
    made = blurred_group(60, 65, 70)
    table = structs(made.output)
    bad = table.set_column(table.schema.get_field_index("city"), "city", pa.array([city] * 3))
    report = audit(made.policy, pa.Table.from_pylist(made.people), bad, pa.Table.from_pylist(made.trace))
    expected = [line(row, "what is published is not a node of the hierarchy", "city") for row in range(3)]
    assert said(report)["silent"] == expected


def test_a_struct_with_more_inside() -> None:
    made = blurred_group(60, None, 70, 80, 85, 90)
    table = structs(made.output)
    for field in ("pulse", "city"):
        wider = pa.array([{**each, "raw": 61} for each in table.column(field).to_pylist()])
        bad = table.set_column(table.schema.get_field_index(field), field, wider)
        report = audit(made.policy, pa.Table.from_pylist(made.people), bad, pa.Table.from_pylist(made.trace))
        assert said(report) == {"silent": [f"'{field}.raw': the policy does not list this field"]}


@pytest.mark.parametrize("form", FORMATS)
def test_a_doubt_under_another_reading(form: str, tmp_path: Path) -> None:
    made = mixed()
    made.privacy = {"nulls_match": "maybe"}
    assert "silent" in said(made.report(tmp_path, form))


def test_the_share_in_doubt_stands_in_every_form_of_the_report() -> None:
    made = mixed()
    made.people.append({**made.people[0], "pid": 9})
    made.suppress(9)
    report = made.report()
    assert json.loads(report.to_json())["figures"]["utility"]["doubt"] == pytest.approx(3 / 27)
    assert report["true"].note == "11.1 % of the values say “or missing”"
    assert made.report(traced=False)["true"].note.endswith("; 11.1 % of the values say “or missing”")
    page = report.to_html()
    assert page.count("11.1 % of the values say “or missing”.") == 1
    assert "values of rows not suppressed that say “or missing”" in page and "11\u00a0%" in page


def test_the_loss_is_over_what_a_tuple_has() -> None:
    made = blurred_group(60, None, 70, 80, 85, 90)
    made.show([*range(6)], age=[40, 50], city="Norway")
    loss = figures(made.report()).utility.loss
    with_pulse = [(0.1 + 10 / 160 + 1 / 3) / 3] * 6
    assert loss.over_time == pytest.approx((with_pulse[0], (0.1 + 1 / 3) / 2, *with_pulse[2:]))
    assert loss.attribute["pulse"] == pytest.approx(10 / 160)


def test_who_knows_what_a_person_lacks_finds_a_whole_group() -> None:
    made = blurred_group(60, None, 70, 60, 65, 70, None, None, None)
    for rows in ([0, 1, 2], [3, 4, 5], [6, 7, 8]):
        made.show(rows, age=[40, 50])
    report = made.report()
    assert said(report) == {}
    found = attack(report, "null pattern")
    # rows that fit: of each with a pulse 6, of the ones without one 6
    assert found.success == pytest.approx(1 / 6)
    assert found.baseline == pytest.approx(1 / 9)
    assert found.detail == "6 rows fit in the median; only the person's own fit for 0 of 9"


@pytest.mark.parametrize(("field", "value"), [("pulse", 60), ("city", "Bergen")])
@pytest.mark.parametrize(
    ("row", "patterns", "persons"), [(0, True, 9), (3, True, 5), (6, True, 4), (6, False, 9), (3, False, 9)]
)
def test_the_population_that_a_row_could_show(field: str, value: Any, row: int, patterns: bool, persons: int) -> None:
    """Of nine, five have such a value, and four have none; the first group is in doubt, the second not, the third missing."""
    made = blurred_group(value, None, *[value] * 4, None, None, None, field=field)
    made.show([*range(9)], age=[40, 50])
    assert Accepted(evidence_of(made), patterns).fitting(row) == persons


@pytest.mark.parametrize("missing", [0.1, 0.3, 0.5, 0.8])
def test_counts_weigh_what_is_in_doubt(missing: float) -> None:
    """Where rows lack values independently of each other, the estimate is near the truth."""
    evidence = evidence_of(honest(2000, missing))
    weights = _weights(evidence)
    for name, shown in evidence.published.items():
        weight = weights[name]
        assert weight[~shown.null].sum() / evidence.released == pytest.approx(1 - missing, abs=0.03), name
        assert np.array_equal(weight < 1, shown.doubt)


def test_counts_with_two_conditions_weigh_it_too() -> None:
    """Where all values are equal, and nine in ten are there, nothing but the doubt can be wrong."""
    made = honest(500, 0.1)
    same = {"age": 50, "pulse": 60, "city": "Oslo"}
    people = [row | {name: value for name, value in same.items() if row[name] is not None} for row in made.people]
    made = Blurred(people[:1500])
    for cluster in range(500):
        made.leave([*range(cluster * K, cluster * K + K)], cluster)
    assert answers(evidence_of(made)).pair_mean < 0.05


@pytest.mark.parametrize("field", ["pulse", "city"])
def test_a_doubt_that_one_row_writes_in_another_way(field: str, tmp_path: Path) -> None:
    bad = mixed() if field == "pulse" else blurred_group("Paris", None, "Lyon", field="city")
    assert said(bad.report(tmp_path, "jsonl")) == {}
    bad.show([0], **{field: {"pulse": "[60, 70] or missing", "city": "France or missing"}[field]})
    what = line(0, "is written in another way than in other rows that show the same", field)
    assert said(bad.report(tmp_path, "jsonl")) == {"alike": [what]}
