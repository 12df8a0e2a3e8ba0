"""Sets as users write and read them: policies, published values, values that no hierarchy knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from shoal import Anonymizer, Policy
from shoal.errors import PolicyError
from shoal.files import run

HOME = "home: {quasi: categorical, hierarchy: {City: {South: [Canal, Meadow], North: [Hill, Dock, Mill]}}%s}"


def policy(options: str = ", generalize: set", **sections: Any) -> Policy:
    text = "person: pid\nattributes: {%s}\nprivacy: {k: %d, nulls_match: %s}\nwindow: {count: 4}\nalgorithm: {name: fads}\n"
    return Policy.parse(text % (HOME % options, sections.get("k", 2), sections.get("match", "blurred")))


def published(held: Policy, *homes: str | None) -> list[Any]:
    anonymizer = Anonymizer(held)
    batch = pa.RecordBatch.from_pydict({"pid": list(range(len(homes))), "home": pa.array(homes, pa.string())})
    shown = anonymizer.to_records(anonymizer.push_batch(batch)) + anonymizer.to_records(anonymizer.flush())
    assert not anonymizer.stats.faults
    return [record["home"] for record in shown]


def test_the_values_of_the_group_in_the_order_of_the_hierarchy() -> None:
    assert published(policy(), "Mill", "Canal") == [["Canal", "Mill"]] * 2


def test_null_stands_for_or_missing() -> None:
    assert published(policy(k=3), "Mill", None, "Canal") == [["Canal", "Mill", None]] * 3
    assert published(policy(k=3, match="maybe"), "Mill", None, "Canal") == [["Canal", "Mill"], None, ["Canal", "Mill"]]
    assert published(policy(k=3, match="extended"), "Mill", None, "Canal") == [None] * 3
    assert published(policy(k=3, match="root"), "Mill", None, "Canal") == [["City"]] * 3


def test_beyond_most_one_node() -> None:
    short, long = policy(", set: {most: 2}", k=3), policy(", generalize: {set: {most: 2}}", k=3)
    assert short == long != policy(k=3)
    assert published(long, "Hill", "Dock", "Mill") == [["North"]] * 3
    assert published(long, "Hill", "Dock", "Hill") == [["Hill", "Dock"]] * 3


def test_a_lone_value_is_shown_as_its_parent() -> None:
    held = policy(", generalize: {set: {min_support: 2}}", k=4)
    assert published(held, "Canal", "Canal", "Mill", "Dock") == [["Canal", "North"]] * 4
    assert published(held, "Mill", "Dock", "Meadow", "Meadow") == [["Meadow", "North"]] * 4


@pytest.mark.parametrize("name", ["fads", "castle", "tide"])
def test_a_value_that_the_hierarchy_lacks_is_the_root(name: str) -> None:
    assert published(policy(", unknown: root, generalize: set"), "Canal", "Elsewhere") == [["City"]] * 2
    text = "person: pid\nattributes: {%s}\nprivacy: {k: 2}\nwindow: {count: 9}\nalgorithm: {name: %s}"
    held = Policy.parse(text % (HOME % ", unknown: root, generalize: set", name))
    homes = ["Elsewhere", "Canal", "Mill", "Elsewhere", "Canal", "Abroad", "Mill", "Mill"] * 3
    anonymizer = Anonymizer(held)
    batch = pa.RecordBatch.from_pydict({"pid": list(range(len(homes))), "home": homes})
    shown = anonymizer.to_records(anonymizer.push_batch(batch))
    rows = anonymizer.trace.column("row").to_pylist()
    shown += anonymizer.to_records(anonymizer.flush())
    rows += anonymizer.trace.column("row").to_pylist()
    assert sorted(rows) == list(range(len(homes))) and not anonymizer.stats.faults
    for row, record in zip(rows, shown, strict=True):
        is_known = homes[row] in ("Canal", "Mill")
        assert record["home"] == ["City"] or (is_known and homes[row] in record["home"])
    assert ["City"] in [record["home"] for record in shown] != [["City"]] * len(homes)


def test_values_without_a_hierarchy_are_sets() -> None:
    text = (
        "person: pid\nattributes: {home: {quasi: categorical, values: [Canal, Mill, 7]%s}}\nprivacy: {k: 2}\nwindow: {count: 4}"
    )
    assert published(Policy.parse(text % ""), "7", "Canal") == [["Canal", "7"]] * 2
    assert published(Policy.parse(text % ", generalize: node"), "7", "Canal") == ["any"] * 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (", generalize: sets", ".generalize: is not allowed; write node, set, {set: {most: 5}} or {set: {min_support: 2}}"),
        (", generalize: {set: {most: 1}}", ".generalize.set.most: is below 2; use at least 2"),
        (", generalize: {set: {min_support: 0}}", ".generalize.set.min_support: is below 1; use at least 1"),
        (
            ", generalize: {set: {min_support: 7}}",
            ".generalize.set.min_support: is above k=2: a group of 2 could show only the root; use at most 2",
        ),
        (", values: [Canal]", ".values: are the leaves of the hierarchy; keep one of the two"),
    ],
)
def test_what_is_refused(options: str, problem: str) -> None:
    with pytest.raises(PolicyError) as refused:
        policy(options)
    assert str(refused.value) == f"attributes.home{problem}"


def test_a_bar_in_a_label_is_refused() -> None:
    with pytest.raises(PolicyError) as refused:
        Policy.parse(
            "person: pid\nattributes: {a: {quasi: categorical, values: ['x|y', z]}}\nprivacy: {k: 2}\nwindow: {count: 4}"
        )
    says = "a label has '|', which CSV puts between the values of a set; rename it, or use node"
    assert str(refused.value) == f"attributes.a.generalize: {says}"


def test_every_format(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text(
        f"person: pid\nattributes: {{{HOME % ', generalize: set'}}}\nprivacy: {{k: 3}}\nwindow: {{count: 3}}\n"
    )
    homes = ["Canal", "Mill", None, "Hill", "Hill", "Dock"]
    lines = [json.dumps({"pid": i, "home": home}) for i, home in enumerate(homes)]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    for form in ("jsonl", "csv", "parquet", "arrow"):
        run(str(tmp_path / "policy.yaml"), str(tmp_path / "in.jsonl"), str(tmp_path / f"out.{form}"))
    written = [json.loads(line)["home"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert sorted(written, key=str) == [["Canal", "Mill", None]] * 3 + [["Hill", "Dock"]] * 3
    cells = (tmp_path / "out.csv").read_text().splitlines()
    assert cells[0] == "home"
    assert sorted(cells[1:]) == ["Canal|Mill or missing"] * 3 + ["Hill|Dock"] * 3
    labels = pa.dictionary(pa.int32(), pa.string())
    parquet, arrow = pa.parquet.read_table(tmp_path / "out.parquet"), pa.ipc.open_file(tmp_path / "out.arrow").read_all()
    for table, values in ((parquet, pa.string()), (arrow, labels)):
        assert table.schema.field("home").type.value_type == values
        assert sorted(table.column("home").to_pylist(), key=str) == sorted(written, key=str)


def test_a_snapshot_keeps_the_sets_of_groups_that_are_reused() -> None:
    held = policy(k=2)
    straight, first, second = Anonymizer(held), Anonymizer(held), Anonymizer(held)
    homes = ["Canal", "Mill", "Canal", "Mill", "Hill", "Mill", "Canal", "Hill"]
    batches = [pa.RecordBatch.from_pydict({"pid": [i], "home": [home]}) for i, home in enumerate(homes)]
    expected = [straight.to_records(straight.push_batch(batch)) for batch in batches] + [straight.to_records(straight.flush())]
    found = [first.to_records(first.push_batch(batch)) for batch in batches[:5]]
    second.restore(first.snapshot())
    found += [second.to_records(second.push_batch(batch)) for batch in batches[5:]] + [second.to_records(second.flush())]
    assert found == expected
