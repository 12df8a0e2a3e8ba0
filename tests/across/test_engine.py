"""What leaves: blocks, bags, and no more of a person than the budget allows."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import shoal
from shoal.anonymizer import RemoteLane, Transfer
from shoal.columns import Encoder
from shoal.errors import InputError, RejectedError
from shoal.formats import open_writer
from tests.across.stream import BLOCKS, VALUES, K, Published, people, policy, published

BLOCK = {"stable": True, "as": "block", "blocks": BLOCKS}
NAMES = {"lungs": BLOCKS[0], "rest": BLOCKS[1]}


def block_of(value: str | None) -> list[str] | None:
    """The block, in plain words."""
    if value is None:
        return None
    return next((block for block in BLOCKS if value in block), ["unlisted"])


def came(found: Published, rows: pa.Table) -> list[Any]:
    """The exact value behind each row of the output; None where it was suppressed."""
    values, hows = rows.column("illness").to_pylist(), found.trace.column("how").to_pylist()
    return [
        None if how == "suppressed" else values[row]
        for row, how in zip(found.trace.column("row").to_pylist(), hows, strict=True)
    ]


@pytest.mark.parametrize("more", [{}, {"lanes": 2}, {"privacy": {"l": 2}}, {"algorithm": {"name": "tide"}}])
def test_every_row_shows_the_block_of_its_value(more: dict[str, Any]) -> None:
    rows = people(unknown=0.1)
    found = published(policy(BLOCK, **more), rows)
    shown = [record["illness"] for record in found.records]
    withheld = found.anonymizer.stats.withheld
    differs = sum(a != b for a, b in zip(shown, map(block_of, came(found, rows)), strict=True))
    assert differs == withheld
    assert len(shown) == len(rows)
    assert ["unlisted"] in shown


def test_groups_do_not_depend_on_blocks() -> None:
    rows = people()
    exact, block = published(policy({}), rows), published(policy(BLOCK), rows)
    assert exact.trace == block.trace
    assert exact.output.column("age") == block.output.column("age")


def test_l_counts_blocks() -> None:
    """Of six values in one block, none can be shown where two are asked for."""
    one_block = {**BLOCK, "blocks": [list(VALUES), ["x", "y"]]}
    assert set(published(policy(one_block, privacy={"l": 2}), people()).output.column("illness").to_pylist()) == {None}


def test_t_compares_blocks() -> None:
    given = dict.fromkeys(VALUES, 1 / 6)
    asked = policy({**BLOCK, "t": 0.3, "distribution": given}).requirements[0]
    assert asked.distribution == {"flu|cold|asthma": pytest.approx(0.5), "none|migraine|diabetes": pytest.approx(0.5)}


def test_unknown_values_can_be_null_and_numbers_can_be_values() -> None:
    rows = people(unknown=0.5)
    shown = published(policy({**BLOCK, "unknown": None}), rows).output.column("illness").to_pylist()
    assert ["unlisted"] not in shown and None in shown
    coded = rows.set_column(3, "illness", pa.array([index % 4 for index in range(len(rows))]))
    numbers = published(policy({**BLOCK, "blocks": [[0, 1], [2, 3]]}), coded).output.column("illness").to_pylist()
    assert {tuple(each) for each in numbers if each} == {("0", "1"), ("2", "3")}


@pytest.mark.parametrize("illness", [BLOCK, {**BLOCK, "blocks": NAMES}, {"stable": True, "as": "bag", "bag": 50}])
def test_batches_and_snapshots_change_nothing(illness: dict[str, Any]) -> None:
    rows, by = people(), policy(illness, releases={"per_person": 8, "per": 500})
    whole, cut = published(by, rows, size=600), published(by, rows, size=37, restart=True)
    assert whole.records == cut.records
    assert sorted(whole.bags.column("bag").to_pylist()) == sorted(cut.bags.column("bag").to_pylist())
    for number in set(whole.bags.column("bag").to_pylist()):
        assert Counter(bag(whole, number)) == Counter(bag(cut, number))


def bag(found: Published, number: int) -> list[str]:
    return [each["value"] for each in found.bags.to_pylist() if each["bag"] == number]


def test_records_one_by_one() -> None:
    rows, by = people(200), policy(BLOCK)
    anonymizer = shoal.Anonymizer(by)
    single = [out for record in rows.to_pylist() for out in anonymizer.push(record)]
    assert single + anonymizer.to_records(anonymizer.flush()) == published(by, rows).records


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet", "arrow"])
def test_the_forms_of_blocks(kind: str, tmp_path: Path) -> None:
    rows = people(60)
    for name, illness in (("list", BLOCK), ("name", {**BLOCK, "blocks": NAMES})):
        found = published(policy(illness), rows)
        path = tmp_path / f"{name}.{kind}"
        with open_writer(str(path)) as writer:
            for batch in found.output.to_batches():
                writer.write(batch)
        labels = [None if v is None else v if isinstance(v, str) else "|".join(v) for v in found.output["illness"].to_pylist()]
        assert read(path, kind) == labels
    if kind == "parquet":
        assert pyarrow.parquet.read_schema(tmp_path / "list.parquet").field("illness").type == pa.list_(pa.string())


def read(path: Path, kind: str) -> list[str | None]:
    if kind == "jsonl":
        values = [json.loads(line)["illness"] for line in path.read_text().splitlines()]
    elif kind == "csv":
        import csv

        values = [row["illness"] or None for row in csv.DictReader(path.open())]
    elif kind == "parquet":
        values = pyarrow.parquet.read_table(path)["illness"].to_pylist()
    else:
        values = pa.ipc.open_file(path).read_all()["illness"].to_pylist()
    return [None if v is None else v if isinstance(v, str) else "|".join(v) for v in values]


def test_values_with_marks_are_escaped(tmp_path: Path) -> None:
    odd = [['say "a"', "b, c"], ["d\\e", "f"]]
    rows = people(60).set_column(3, "illness", pa.array([odd[i % 2][i // 2 % 2] for i in range(60)]))
    found = published(policy({**BLOCK, "blocks": odd}), rows)
    for kind in ("jsonl", "csv"):
        with open_writer(str(tmp_path / f"out.{kind}")) as writer:
            for batch in found.output.to_batches():
                writer.write(batch)
        assert set(read(tmp_path / f"out.{kind}", kind)) - {None} == {'say "a"|b, c', "d\\e|f"}


def test_bags_hold_the_values_that_left() -> None:
    rows = people()
    found = published(policy({"stable": True, "as": "bag", "bag": 100}), rows)
    assert set(found.output.column("illness").to_pylist()) == {None}
    left = [value for value in came(found, rows) if value is not None]
    numbers = sorted(set(found.bags.column("bag").to_pylist()))
    assert numbers == list(range(1, len(left) // 100 + 1))
    for place, number in enumerate(numbers):
        assert Counter(bag(found, number)) == Counter(left[100 * place : 100 * place + 100])
        assert bag(found, number) != left[100 * place : 100 * place + 100]
    assert found.anonymizer.sizes["bagged"] == len(left) % 100


def test_a_bag_waits_for_k_persons() -> None:
    """The first 200 tuples are of two persons, fewer than k."""
    rows = people(400, persons=40)
    who = np.concatenate([np.arange(200) % 2, 2 + np.arange(200) % 38])
    rows = rows.set_column(0, "pid", pa.array(who)).set_column(3, "illness", pa.array(["flu", "cold"] * 200))
    some = {"privacy": {"one_in_k": False}, "suppressed": "publish"}
    found = published(policy({"stable": True, "as": "bag", "bag": 20}, **some), rows)
    order = [who[row] for row in found.trace.column("row").to_pylist()]
    start = 0
    for number in sorted(set(found.bags.column("bag").to_pylist())):
        size = len(bag(found, number))
        assert size >= 20 and len(set(order[start : start + size])) >= K
        assert len(set(order[start : start + size - 1])) < K or size == 20
        start += size


@pytest.mark.parametrize("size", [37, 600])
def test_a_person_has_no_more_than_a_kth_of_a_bag(size: int) -> None:
    """Most tuples are of one person, whose value nobody else has; further ones are left out."""
    rows, chance = people(600), np.random.default_rng(3)
    often = chance.random(600) < 0.8
    who = np.where(often, -1, rows.column("pid").to_numpy())
    ill = np.where(often, "plague", chance.choice(VALUES, 600))
    rows = rows.set_column(0, "pid", pa.array(who)).set_column(3, "illness", pa.array(ill))
    found = published(policy({"stable": True, "as": "bag", "bag": 30}, suppressed="publish"), rows, size)
    bags, own = [Counter[str]()], Counter[int]()
    for row in found.trace.column("row").to_pylist():
        if own[who[row]] < 30 // K:
            own[who[row]] += 1
            bags[-1][ill[row]] += 1
            if own.total() == 30:
                bags.append(Counter())
                own.clear()
    numbers = sorted(set(found.bags.column("bag").to_pylist()))
    assert [Counter(bag(found, number)) for number in numbers] == bags[:-1]
    assert len(bags) > 4 and all(each["plague"] == 10 for each in bags[:-1])


def test_suppressed_values_are_in_no_bag() -> None:
    rows = people(200, persons=2)
    found = published(policy({"stable": True, "as": "bag", "bag": 20}), rows)
    assert len(found.bags) == 0 and found.anonymizer.sizes["bagged"] == 0


def test_a_budget_in_any_span() -> None:
    rows = people(600, persons=20)
    budget = {"per_person": 5, "per": 100}
    found = published(policy({}, releases=budget), rows)
    who, left = rows.column("pid").to_pylist(), sorted(found.trace.column("row").to_pylist())
    moments: dict[int, list[int]] = defaultdict(list)
    for row in left:
        moments[who[row]].append(row)  # the time is the row
    assert all(b - a >= 100 for own in moments.values() for a, b in zip(own, own[5:], strict=False))
    stats = found.anonymizer.stats
    assert (stats.over_budget, stats.rejected, stats.reasons) == (600 - len(left), 0, {}) and len(left) < 600
    assert found.anonymizer.sizes["budget"] <= 100


def test_beyond_the_budget_sensitive_values_are_withheld() -> None:
    rows = people(600, persons=20)
    budget, shown = {"per_person": 5, "per": 100}, {"suppressed": "publish"}
    dropped = published(policy({}, releases=budget, **shown), rows)
    withheld = published(policy({}, releases={**budget, "beyond": "withhold"}, **shown), rows)
    assert withheld.anonymizer.stats.over_budget == dropped.anonymizer.stats.over_budget == 600 - dropped.trace.num_rows
    within = set(dropped.trace.column("row").to_pylist())
    values = rows.column("illness").to_pylist()
    for row, record in zip(withheld.trace.column("row").to_pylist(), withheld.records, strict=True):
        assert record["illness"] == (values[row] if row in within else None)


def test_frames_take_a_function_for_bags() -> None:
    rows, by = people(300), policy({"stable": True, "as": "bag", "bag": 50})
    bags: list[pa.RecordBatch] = []
    shoal.anonymize(rows, by, on_bags=bags.append)
    assert Counter(len(bag(Published(rows, rows, pa.Table.from_batches(bags), None), n)) for n in range(1, 4)) == {50: 3}  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^on_bags: is missing, and the policy publishes illness in bags; give a function$"):
        shoal.anonymize(rows, by)


def test_frames_of_polars_and_pandas() -> None:
    import pandas
    import polars

    rows = people(100)
    expected = published(policy(BLOCK), rows).output.column("illness").to_pylist()
    assert shoal.anonymize(polars.from_arrow(rows), policy(BLOCK))["illness"].to_list() == expected
    shown = shoal.anonymize(rows.to_pandas(), policy(BLOCK))["illness"]
    assert isinstance(shown, pandas.Series)
    assert [None if isinstance(each, float) or each is None else list(each) for each in shown] == expected


def test_a_run_writes_bags_beside_its_output(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(people(300), tmp_path / "in.parquet")
    by = policy({"stable": True, "as": "bag", "bag": 50})
    shoal.run(by, tmp_path / "in.parquet", tmp_path / "out.csv")
    lines = (tmp_path / "out.bags.csv").read_text().splitlines()
    assert lines[0] == "attribute,bag,value" and len(lines) > 200
    with pytest.raises(
        InputError, match=r"^-: is no file, beside which the bags of illness could go; name one for them \(--bags\)$"
    ):
        shoal.run(by, tmp_path / "in.parquet", "-")
    with pytest.raises(InputError, match=r"^bags: no attribute of the policy is published in bags; leave it out$"):
        shoal.run(policy({}), tmp_path / "in.parquet", tmp_path / "out.csv", bags=tmp_path / "bags.csv")


@pytest.mark.parametrize("illness", [BLOCK, {**BLOCK, "blocks": NAMES}, {"stable": True, "as": "bag", "bag": 50}])
@pytest.mark.parametrize("lanes", [1, 2])
def test_before_the_first_record(illness: dict[str, Any], lanes: int) -> None:
    """What leaves then, nothing, has the type of what leaves later."""
    rows, by = people(200), policy(illness, lanes=lanes)
    anonymizer = shoal.Anonymizer(by)
    kinds = {anonymizer.tick(-1.0).schema.field("illness").type, anonymizer.flush().schema.field("illness").type}
    assert {published(by, rows).output.schema.field("illness").type} == kinds


def test_a_lane_of_spark_shows_blocks() -> None:
    rows, by, key = people(300, unknown=0.1), policy(BLOCK), np.array([1, 2], np.uint64)
    encoder = Encoder(by, key)
    lane = RemoteLane(by, key, np.array([True]), 0)
    shown: list[Any] = []
    for start in range(0, 300, 100):
        batch = rows.slice(start, 100).combine_chunks().to_batches()[0]
        own = Transfer.from_bytes(Transfer.of(encoder.encode(batch, np.arange(start, start + 100))).to_bytes())
        left = lane.arrive(own, np.array([100]), float(start + 99))
        shown += [value for each in left.published for value in each.column("illness").to_pylist()]
        saved, lane = lane.snapshot(), RemoteLane(by, key, np.array([True]), 0)
        lane.restore(saved)
    shown += [value for each in lane.flush().published for value in each.column("illness").to_pylist()]
    assert len(shown) == 300
    assert {tuple(value) for value in shown if value} == {*map(tuple, BLOCKS), ("unlisted",)}


def test_spark_refuses_bags() -> None:
    pytest.importorskip("pyspark")
    from shoal.errors import PolicyError
    from shoal.spark.anonymize import _with_lanes

    by = policy({"stable": True, "as": "bag"})
    with pytest.raises(PolicyError) as error:
        _with_lanes(by, 2)
    assert error.value.problems == ("attributes.illness.as: a query has one output, and no place for bags; use block",)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "arrow"])
@pytest.mark.parametrize(
    "illness", [BLOCK, BLOCK | {"blocks": NAMES}, {"stable": True, "as": "bag"}], ids=["lists", "names", "bag"]
)
def test_a_stream_without_records_has_an_output_without_rows(illness: dict[str, Any], form: str, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("pid,ts,age,illness\n")
    stats = shoal.run(policy(illness), source, tmp_path / f"out.{form}")
    assert (stats.received, stats.released) == (0, 0)
    source.write_text("pid,ts,age,illness\na,1,200,flu\n")
    with pytest.raises(RejectedError):
        shoal.run(policy(illness), source, tmp_path / f"out.{form}", max_rejected=0.05)
