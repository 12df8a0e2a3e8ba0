"""Published sets: good ones in every format pass, and planted violations are named, no others with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import shoal
from shoal.audit import Evidence, Report, answers, audit, gather
from shoal.policy import Policy

TREE = {"City": {"South": ["Canal", "Meadow", "Park"], "North": ["Hill", "Dock", "Mill"]}}
LEAVES = [leaf for leaves in TREE["City"].values() for leaf in leaves]
K = 4
Row = dict[str, Any]


def policy(match: str = "blurred", generalize: str | None = None, **options: Any) -> Policy:
    return Policy.parse(
        {
            "person": "pid",
            "attributes": {
                "home": {"quasi": "categorical", "hierarchy": TREE, "generalize": generalize or {"set": options}},
                "age": {"quasi": "numeric", "range": [0, 100]},
            },
            "privacy": {"k": K, "nulls_match": match},
            "window": {"count": 40},
        }
    )


class Run:
    """A run over some people, whose output can be altered."""

    def __init__(self, folder: Path, held: Policy, missing: float = 0.1) -> None:
        self.folder, self.held, random = folder, held, Random(5)
        people = [
            {
                "pid": pid,
                "home": None if random.random() < missing else random.choice(LEAVES),
                "age": random.randrange(100),
            }
            for pid in range(200)
        ]
        self._write("in.jsonl", people)
        trace = str(folder / "trace.jsonl")
        assert shoal.run(held, str(folder / "in.jsonl"), str(folder / "out.jsonl"), trace=trace).faults == {}
        self.people, self.output, self.trace = (self._read(f"{name}.jsonl") for name in ("in", "out", "trace"))

    def _write(self, name: str, records: list[Row]) -> None:
        (self.folder / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    def _read(self, name: str) -> list[Row]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def group(self, fits: Callable[[list[int]], bool]) -> list[int]:
        """The rows of the first group that fits and that no other record reuses."""
        groups: dict[int, list[int]] = {}
        for row, how in enumerate(self.trace):
            groups.setdefault(how["cluster"], []).append(row)
        alone = (rows for rows in groups.values() if all(self.trace[row]["how"] == "cluster" for row in rows))
        return next(rows for rows in alone if fits(rows))

    def home(self, row: int) -> str | None:
        found: str | None = self.people[self.trace[row]["row"]]["home"]
        return found

    def show(self, rows: list[int], home: Any) -> None:
        for row in rows:
            self.output[row]["home"] = home

    def report(self, form: str = "jsonl") -> Report:
        target = self.folder / f"altered.{form}"
        if form == "jsonl":
            self._write(target.name, self.output)
        else:
            shoal.run(self.held, str(self.folder / "in.jsonl"), str(target), trace=str(self.folder / "trace.jsonl"))
        return audit(self.held, str(self.folder / "in.jsonl"), str(target), trace=str(self.folder / "trace.jsonl"))

    def broken(self) -> dict[str, set[str]]:
        """What is wrong, by promise."""
        found = {finding.promise: {each.what for each in finding.violations} for finding in self.report().promises}
        return {promise: what for promise, what in found.items() if what}


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "arrow"])
@pytest.mark.parametrize("match", ["blurred", "maybe", "extended", "root"])
def test_good_sets_pass(match: str, form: str, tmp_path: Path) -> None:
    report = Run(tmp_path, policy(match, most=4, min_support=2)).report(form)
    assert {finding.verdict.value for finding in report.promises} == {"held"}
    assert "sets" in [finding.promise for finding in report.promises]


def test_every_format_loses_the_same(tmp_path: Path) -> None:
    run = Run(tmp_path, policy())
    losses = {form: run.report(form).figures.utility.loss.mean for form in ("jsonl", "csv", "parquet", "arrow")}
    assert len(set(losses.values())) == 1
    assert losses["csv"] == pytest.approx(shoal.run(run.held, str(tmp_path / "in.jsonl"), str(tmp_path / "x.csv")).loss)


def whole(run: Run) -> list[int]:
    """A group with two values or more, all of which have one."""
    return run.group(lambda rows: None not in map(run.home, rows) and len(set(map(run.home, rows))) > 1)


def left_out(run: Run) -> None:
    rows = whole(run)
    run.show(rows, [home for home in run.output[rows[0]]["home"] if home != run.home(rows[0])])


def of_nobody(run: Run) -> None:
    rows = whole(run)
    own = {*map(run.home, rows)}
    run.show(rows, [leaf for leaf in LEAVES if leaf in own or leaf == next(leaf for leaf in LEAVES if leaf not in own)])


def out_of_order(run: Run) -> None:
    rows = whole(run)
    run.show(rows, run.output[rows[0]]["home"][::-1])


def twice(run: Run) -> None:
    rows = whole(run)
    run.show(rows, [*run.output[rows[0]]["home"], run.output[rows[0]]["home"][-1]])


def below_another(run: Run) -> None:
    run.show(whole(run), ["City", "Mill"])


def one_apart(run: Run) -> None:
    run.show(whole(run)[:1], ["City"])


def in_doubt(run: Run) -> int:
    """A member of a group whose set is in doubt."""
    return run.group(lambda rows: (run.output[rows[0]]["home"] or [""])[-1] is None)[0]


def as_in_csv(run: Run) -> None:
    row = in_doubt(run)
    run.show([row], "|".join(run.output[row]["home"][:-1]) + " or missing")


def with_bars(run: Run) -> None:
    row = whole(run)[0]
    run.show([row], "|".join(run.output[row]["home"]))


def without_a_list(run: Run) -> None:
    rows = whole(run)
    run.show(rows, ["City"])
    run.show(rows[:1], "City")


WAY = "is written in another way than in other rows that show the same"
NO_NODE = "what is published is not a node of the hierarchy"
OUTSIDE = "the value lies outside what is published"
PLANTED: dict[str, tuple[Callable[[Run], None], dict[str, set[str]]]] = {
    "a member's value is left out": (left_out, {"true": {OUTSIDE}}),
    "a value that nobody has": (of_nobody, {"sets": {"shows a value that no member of its group has"}}),
    "not in the order of the hierarchy": (out_of_order, {"true": {OUTSIDE}, "silent": {NO_NODE}}),
    "a value twice": (twice, {"true": {OUTSIDE}, "silent": {NO_NODE}}),
    "a value below another": (below_another, {"true": {OUTSIDE}, "silent": {NO_NODE}}),
    "one member's set is written as in CSV": (with_bars, {"alike": {WAY}}),
    "one member's set in doubt is written as in CSV": (as_in_csv, {"alike": {WAY}}),
    "one member's label is no list": (without_a_list, {"alike": {WAY}}),
    "one member shows another set": (one_apart, {"alike": {"shows another generalization than its group"}}),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_planted_violations_are_named(planted: str, tmp_path: Path) -> None:
    plant, expected = PLANTED[planted]
    run = Run(tmp_path, policy())
    assert run.broken() == {}
    plant(run)
    assert run.broken() == expected


def test_more_values_than_the_policy_allows(tmp_path: Path) -> None:
    run = Run(tmp_path, policy(most=2), missing=0.0)
    rows = run.group(lambda rows: len(set(map(run.home, rows))) > 2)
    run.show(rows, [leaf for leaf in LEAVES if leaf in map(run.home, rows)])
    assert run.broken() == {"sets": {"has more values than most=2"}}


def test_a_value_of_too_few_persons(tmp_path: Path) -> None:
    run = Run(tmp_path, policy(min_support=2), missing=0.0)
    rows = run.group(lambda rows: min(list(map(run.home, rows)).count(home) for home in map(run.home, rows)) == 1)
    run.show(rows, [leaf for leaf in LEAVES if leaf in map(run.home, rows)])
    assert run.broken() == {"sets": {"shows a value that fewer than min_support=2 persons of its group have"}}


def test_without_a_trace_the_numbers_of_values_are_looked_at(tmp_path: Path) -> None:
    run = Run(tmp_path, policy(most=2), missing=0.0)
    run.show([0], LEAVES[:3])
    run.report()
    report = audit(run.held, str(tmp_path / "in.jsonl"), str(tmp_path / "altered.jsonl"))
    (finding,) = (finding for finding in report.promises if finding.promise == "sets")
    assert [each.what for each in finding.violations] == ["has more values than most=2"]


def test_each_value_of_a_set_counts_for_one_of_k_rows_and_the_rest_as_often_as_it_seems(tmp_path: Path) -> None:
    """4 rows show Canal or Mill, 4 Canal or Dock: read evenly, Canal seems to be shown 4 times, Mill and Dock twice each.

    Of 4 rows one has each value, and two are shared 4 to 2: 2 1/3 and 1 2/3. The 6 rows of Mill alone change nothing there.
    """
    held = Policy.parse(
        {
            "attributes": {"home": {"quasi": "categorical", "hierarchy": TREE, "generalize": "set"}},
            "person": "none",
            "privacy": {"k": K},
            "window": {"count": 10},
        }
    )
    before = pa.table({"home": ["Canal"] * 5 + ["Mill"] * 7 + ["Dock"] * 2})
    after = pa.table({"home": [["Canal", "Mill"]] * 4 + [["Canal", "Dock"]] * 4 + [["Mill"]] * 6})
    evidence = gather(held, before, after)
    assert isinstance(evidence, Evidence)
    found = answers(evidence).categories["home"]
    assert (found.top, found.found) == (3, 3)
    assert found.count == pytest.approx((5 - 14 / 3 + 23 / 3 - 7 + 2 - 5 / 3) / 14)
