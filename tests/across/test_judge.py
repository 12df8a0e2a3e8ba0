"""The judge: good outputs pass, planted violations are named, and the attack finds what is not protected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from shoal.audit import Report, Verdict, WindowReport, audit
from tests.across.stream import BLOCKS, VALUES, Published, people, policy, published

BLOCK = {"stable": True, "as": "block", "blocks": BLOCKS}
BAG = {"stable": True, "as": "bag", "bag": 100}


def judged(illness: dict[str, Any], rows: pa.Table, found: Published, traced: bool = True, **more: Any) -> Report:
    bags = found.bags if illness.get("as") == "bag" else None
    return audit(policy(illness, **more), rows, found.output, found.trace if traced else None, bags=bags)


def broken(report: Report) -> dict[str, list[str]]:
    return {each.promise: [str(one) for one in each.violations] for each in report.promises if each.verdict == Verdict.BROKEN}


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize(
    ("illness", "more"),
    [
        (BLOCK, {}),
        (BLOCK, {"privacy": {"l": 2}}),
        ({**BLOCK, "unknown": "null"}, {}),
        ({**BLOCK, "blocks": {"lungs": BLOCKS[0], "rest": BLOCKS[1]}}, {"suppressed": "publish"}),
        (BAG, {}),
        (BAG, {"suppressed": "drop"}),
        ({}, {"releases": {"per_person": 5, "per": 100}}),
        (BLOCK, {"releases": {"per_person": 5, "per": 100, "beyond": "withhold"}}),
        (BAG, {"releases": {"per_person": 5, "per": 100, "beyond": "withhold"}}),
    ],
)
def test_good_outputs_pass(illness: dict[str, Any], more: dict[str, Any], traced: bool) -> None:
    rows = people(unknown=0.1)
    report = judged(illness, rows, published(policy(illness, **dict(more)), rows), traced, **dict(more))
    assert broken(report) == {}


def planted(found: Published, row: int, value: list[str] | str) -> Published:
    shown = found.output.column("illness").to_pylist()
    shown[row] = value
    kind = found.output.schema.field("illness").type
    return Published(found.output.set_column(1, "illness", pa.array(shown, kind)), found.trace, found.bags, found.anonymizer)


def a_row(found: Published) -> int:
    return next(row for row, shown in enumerate(found.output.column("illness").to_pylist()) if shown == BLOCKS[0])


@pytest.mark.parametrize("traced", [True, False])
@pytest.mark.parametrize("cut", [["flu"], ["flu", "cold"], [*BLOCKS[0], "none"]], ids=["exact", "cut anew", "grown"])
def test_what_is_no_block_of_the_policy(cut: list[str], traced: bool) -> None:
    rows = people()
    found = published(policy(BLOCK), rows)
    row = a_row(found)
    report = judged(BLOCK, rows, planted(found, row, cut), traced)
    where = f", input row {found.trace.column('row')[row].as_py() + 1}" if traced else ""
    assert broken(report) == {"blocks": [f"output row {row + 1}{where}, 'illness': what is shown is not a block of the policy"]}


def test_the_block_of_another_value() -> None:
    rows = people()
    found = published(policy(BLOCK), rows)
    row = a_row(found)
    report = judged(BLOCK, rows, planted(found, row, BLOCKS[1]))
    place = f"output row {row + 1}, input row {found.trace.column('row')[row].as_py() + 1}, 'illness'"
    assert broken(report) == {"blocks": [f"{place}: is not the block of the value that came"]}


def test_a_value_in_its_row_though_there_are_bags() -> None:
    rows = people()
    found = published(policy(BAG), rows)
    report = judged(BAG, rows, planted(found, 7, "flu"))
    place = f"output row 8, input row {found.trace.column('row')[7].as_py() + 1}, 'illness'"
    assert broken(report) == {"bags": [f"{place}: a value is shown in its row, though it is published in bags"]}


def left(rows: pa.Table, found: Published) -> list[str]:
    """The values that go into bags, in the order in which they left."""
    values = rows.column("illness").to_pylist()
    lines = zip(found.trace.column("row").to_pylist(), found.trace.column("how").to_pylist(), strict=True)
    return [values[row] for row, how in lines if how != "suppressed" and values[row] is not None]


def with_bags(found: Published, bags: list[list[str]]) -> Published:
    table = pa.table({
        "attribute": ["illness"] * sum(map(len, bags)),
        "bag": np.repeat(np.arange(1, len(bags) + 1), list(map(len, bags))),
        "value": [value for values in bags for value in values],
    })  # fmt: skip
    return Published(found.output, found.trace, table, found.anonymizer)


def shuffled(values: list[str]) -> list[str]:
    return [values[place] for place in np.random.default_rng(1).permutation(len(values))]


def test_a_bag_in_the_order_of_arrival() -> None:
    rows = people()
    found = published(policy(BAG), rows)
    own = left(rows, found)[:200]
    report = judged(BAG, rows, with_bags(found, [shuffled(own[:100]), own[100:]]))
    assert broken(report) == {"bags": ["'illness': bag 2 is in the order in which its tuples arrived or left"]}


def test_a_bag_that_is_too_small_and_one_of_other_values() -> None:
    rows = people()
    found = published(policy(BAG), rows)
    own = left(rows, found)
    report = judged(BAG, rows, with_bags(found, [shuffled(own[:99])]))
    assert broken(report) == {"bags": ["'illness': bag 1 holds 99 values, fewer than bag=100"]}
    other = [next(value for value in VALUES if value != own[0]), *own[1:100]]
    report = judged(BAG, rows, with_bags(found, [shuffled(other)]))
    assert broken(report) == {"bags": ["'illness': bag 1 does not hold the values of the tuples that left"]}


def test_a_bag_of_too_few_persons() -> None:
    rows = people(400, persons=40)
    who = np.concatenate([np.arange(200) % 2, 2 + np.arange(200) % 38])
    rows = rows.set_column(0, "pid", pa.array(who))
    some: dict[str, Any] = {"privacy": {"one_in_k": False}, "suppressed": "publish"}
    found = published(policy({**BAG, "bag": 20}, **dict(some)), rows)
    values = rows.column("illness").to_pylist()
    order = [values[row] for row in found.trace.column("row").to_pylist() if values[row] is not None]
    planted = with_bags(found, [shuffled(order[:20])])
    report = judged({**BAG, "bag": 20}, rows, planted, **some)
    assert broken(report) == {"bags": ["'illness': bag 1 is of 2 persons, fewer than k=3"]}


def test_a_bag_with_too_much_of_one_person() -> None:
    """It is made of the first values that left; most are of one person, as one_in_k does not allow."""
    rows = people(400, persons=40)
    who = np.where(np.arange(400) % 5 < 4, -1, np.arange(400) % 39)
    rows = rows.set_column(0, "pid", pa.array(who))
    found = published(policy(BAG, suppressed="publish"), rows)
    values = rows.column("illness").to_pylist()
    order = [values[row] for row in found.trace.column("row").to_pylist() if values[row] is not None]
    report = judged(BAG, rows, with_bags(found, [shuffled(order[:100])]), suppressed="publish")
    assert broken(report) == {"bags": ["'illness': bag 1 does not hold the values of the tuples that left"]}
    assert broken(judged(BAG, rows, found, suppressed="publish")) == {}


REORDERED: dict[str, Callable[[list[str]], list[str]]] = {
    "backwards": lambda own: own[::-1],
    "moved around": lambda own: own[40:] + own[:40],
    "backwards and moved around": lambda own: own[39::-1] + own[:39:-1],
}


@pytest.mark.parametrize("name", REORDERED)
def test_a_bag_in_an_order_that_is_easily_undone(name: str) -> None:
    rows = people()
    found = published(policy(BAG), rows)
    own = left(rows, found)[:200]
    report = judged(BAG, rows, with_bags(found, [shuffled(own[:100]), REORDERED[name](own[100:])]))
    assert broken(report) == {"bags": ["'illness': bag 2 is in the order in which its tuples arrived or left"]}


def in_parts(values: list[str], length: int) -> list[str]:
    return [value for start in range(0, len(values), length) for value in shuffled(values[start : start + length])]


def test_bags_that_are_shuffled_within_short_parts_alone() -> None:
    rows = people(3000)
    found = published(policy(BAG), rows)
    own = left(rows, found)
    bags = [own[start : start + 100] for start in range(0, len(own) - 99, 100)]
    said = "'illness': its bags are shuffled within short parts of the order in which tuples arrived or left"
    assert broken(judged(BAG, rows, with_bags(found, [in_parts(bag, 12) for bag in bags]))) == {"bags": [said]}
    assert broken(judged(BAG, rows, with_bags(found, [*map(shuffled, bags)]))) == {}


def test_bags_of_two_attributes_with_one_shuffle() -> None:
    """Each bag is shuffled, but the values of a tuple stand at one place of both."""
    chance = np.random.default_rng(8)
    rows = people(3000).set_column(3, "illness", pa.array(chance.choice(VALUES, 3000)))
    rows = rows.append_column("ward", pa.array(chance.choice([*"NESW"], 3000)))
    both = policy(BAG, others={"ward": {"sensitive": True, **BAG}})
    found = published(both, rows)
    assert broken(audit(both, rows, found.output, found.trace, bags=found.bags)) == {}
    lines = zip(found.trace.column("row").to_pylist(), found.trace.column("how").to_pylist(), strict=True)
    record = [row for row, how in lines if how != "suppressed"]
    parts = []
    for name in ("illness", "ward"):
        values = rows.column(name).take(record).to_pylist()
        bags = [shuffled(values[start : start + 100]) for start in range(0, len(values) - 99, 100)]
        parts.append(with_bags(found, bags).bags.set_column(0, "attribute", pa.array([name] * 100 * len(bags))))
    report = audit(both, rows, found.output, found.trace, bags=pa.concat_tables(parts))
    assert broken(report) == {"bags": ["'illness': its values stand at the places of those of 'ward' of the same tuples"]}


def test_what_else_is_in_the_second_output() -> None:
    rows = people()
    found = published(policy(BAG), rows)
    numbered = found.bags.append_column("pid", pa.array(range(len(found.bags))))
    report = audit(policy(BAG), rows, found.output, found.trace, bags=numbered)
    said = "'pid': a field of the second output, which has attribute, bag and value alone"
    assert broken(report) == {"bags": [said]}
    for name, place in (("age", "'age': "), ("somebody", "")):
        more = pa.table({"attribute": [name] * 7, "bag": [1] * 7, "value": ["x"] * 7}).cast(found.bags.schema)
        report = audit(policy(BAG), rows, found.output, found.trace, bags=pa.concat_tables([found.bags, more]))
        said = f"{place}7 values stand in bags, though the policy does not publish this in bags"
        assert broken(report) == {"bags": [said]}


def test_a_record_beyond_the_budget() -> None:
    """The output of a run without a budget, judged by a policy with one."""
    rows = people(600, persons=20)
    found = published(policy({}), rows)
    report = judged({}, rows, found, releases={"per_person": 5, "per": 100})
    assert set(broken(report)) >= {"once"}


def exposure(report: Report) -> Any:
    assert isinstance(report, WindowReport)
    return next(each for each in report.exposures if each.name == "values across releases")


def test_the_attack_finds_exact_values_and_no_more_than_blocks() -> None:
    rows = people(3000, persons=150, seed=2)
    shares = {}
    for name, illness in (("exact", {"stable": True, "as": "exact"}), ("block", BLOCK), ("bag", {**BAG, "bag": 500})):
        found = exposure(judged(illness, rows, published(policy(illness), rows)))
        shares[name] = found
    assert shares["exact"].success > 0.9 and shares["exact"].is_worse
    assert not shares["block"].is_worse and not shares["bag"].is_worse
    error = 1.96 * np.sqrt(shares["block"].chance * (1 - shares["block"].chance) / shares["block"].tried)
    assert shares["block"].success <= shares["block"].chance + error
    assert shares["bag"].success < 2 * shares["bag"].chance


def test_the_attack_grows_with_the_releases_and_can_be_accepted() -> None:
    rows = people(3000, persons=150, seed=2)
    illness = {"stable": True, "as": "exact"}
    more: dict[str, Any] = {"privacy": {"accept": {"values across releases": "50%"}}}
    report = judged(illness, rows, published(policy(illness), rows), **more)
    assert isinstance(report, WindowReport)
    attack = next(each for each in report.figures.attacks if each.name == "values across releases of illness")
    steps = {after: share for after, _, share in attack.by_releases}
    assert steps[1] < steps[2] < steps[5] <= steps[10] == 1
    assert exposure(report).fails and not report.accepted
    assert "after 10" in attack.detail and "values across releases" in report.to_html()


def test_without_what_it_needs() -> None:
    rows = people()
    found = published(policy(BAG), rows)
    report = audit(policy(BAG), rows, found.output, found.trace)
    assert (report["bags"].verdict, report["bags"].note) == (Verdict.NOT_CHECKABLE, "needs the second output, the bags")
    assert exposure(report).obstacle == "not checkable: it needs the bags and the trace"


@pytest.mark.parametrize(("unknown", "shown"), [("unlisted", "unlisted"), ("null", "null")])
def test_values_in_no_block_are_too_few_to_hide_each_other(unknown: str, shown: str) -> None:
    rows, illness = people(unknown=0.2), {**BLOCK, "unknown": unknown}
    report = judged(illness, rows, published(policy(illness), rows))
    assert report["blocks"].note == f"illness: 2 blocks of at least 3 values, but {shown} stands for 1 value, fewer than 2"
    assert report.headline.colour == "amber"
    assert f"; illness: {shown} stands for 1 value, fewer than 2; " in report.headline.text


@pytest.mark.parametrize("padding", ["an absent value", "a rare value"])
def test_a_block_that_names_its_value(padding: str) -> None:
    """Every block has three values, but nearly all who have the first one have its first value."""
    rows = people(1200)
    ill = rows.column("illness").to_pylist()
    ill = ["flu" if value in BLOCKS[0] and (padding != "a rare value" or row > 40) else value for row, value in enumerate(ill)]
    rows = rows.set_column(0, "pid", pa.array(np.arange(1200))).set_column(3, "illness", pa.array(ill))
    report = judged(BLOCK, rows, published(policy(BLOCK), rows))
    note = "illness: 2 blocks of at least 3 values, but 1 of 2 blocks nearly names a value"
    assert (report["blocks"].note, report.headline.colour) == (note, "amber")
    assert "; illness: 1 of 2 blocks nearly names a value; " in report.headline.text
    assert report["blocks"].figures["illness"]["largest"] > 0.9


def test_releases_without_a_value_do_not_hide_a_person_from_the_attack() -> None:
    """Under a budget that withholds, most persons have releases without a value."""
    rows = people(3000)
    more = {"releases": {"per_person": 5, "per": 150, "beyond": "withhold"}}
    report = judged({}, rows, published(policy({}, **dict(more)), rows), **dict(more))
    assert isinstance(report, WindowReport)
    (found,) = [each for each in report.exposures if each.name == "values across releases"]
    assert found.tried == 60 and found.is_worse


def test_the_headline_names_a_trace_only_where_it_is_missing() -> None:
    rows = people()
    found = published(policy(BAG), rows)
    report = audit(policy(BAG), rows, found.output, found.trace)
    assert "; 1 attack could not be tried" in report.headline.text
    report = audit(policy(BAG), rows, found.output)
    assert "; without a trace " in report.headline.text
