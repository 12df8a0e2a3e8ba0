"""What helps to find the right policy: check, infer, blocks; and a pipeline that keeps the blocks of its sink."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from tools.across import PAGE, across
from typer.testing import CliRunner

import shoal
from shoal.cli import app
from shoal.errors import InputError, PolicyError, StateError
from shoal.infer import draft_blocks, study, written
from shoal.pipeline import Pipe, PipelineFile, readiness
from shoal.policy import Hierarchy
from tests.across.stream import BLOCKS, people, policy


def csv_of(rows: pa.Table, folder: Path) -> str:
    pyarrow.csv.write_csv(rows, folder / "people.csv")
    return str(folder / "people.csv")


def test_check_warns_of_what_is_not_declared(tmp_path: Path) -> None:
    source = csv_of(people(600, persons=150), tmp_path)
    said = (
        "'illness': does not change for 100 % of the 131 persons who come back, so that their releases add up to it; declare "
        "it stable: true, as: block, bag or exact"
    )
    warnings = shoal.check(policy({}), source).warnings
    assert [line for line in warnings if "come back, so" in line] == [said]
    for illness in ({"stable": True, "as": "exact"}, {"stable": True, "as": "block", "blocks": BLOCKS}):
        assert not any("come back, so" in line for line in shoal.check(policy(illness), source).warnings)


def test_infer_proposes_it(tmp_path: Path) -> None:
    source = csv_of(people(600, persons=150), tmp_path)
    draft = written(source, study(source, 10_000))
    assert "#illness: {sensitive: true, stable: true, as: bag}" in draft


def test_drafted_blocks() -> None:
    zipf = {f"v{rank}": 1 / rank for rank in range(1, 12)}
    found = draft_blocks(zipf, 3, most=0.5)
    assert sorted(value for block in found.blocks for value in block) == sorted(zipf)
    assert min(map(len, found.blocks)) >= 3
    assert found.largest <= 0.5 or len(found.blocks[0]) > 3
    tree = Hierarchy.of([[f"v{rank}", "odd" if rank % 2 else "even", "all"] for rank in range(1, 12)])
    for block in draft_blocks(zipf, 3, 0.9, tree).blocks:
        assert len({int(value[1:]) % 2 for value in block}) == 1
    with pytest.raises(InputError, match=r"^there are 2 values, fewer than 3; lower the number, or use as: bag$"):
        draft_blocks({"a": 0.5, "b": 0.5}, 3)


def test_the_command_prints_lines_for_the_policy(tmp_path: Path) -> None:
    rows = people(600, persons=150)
    rare = rows.set_column(3, "illness", pa.array(["plague", *rows.column("illness").to_pylist()[1:]]))
    done = CliRunner().invoke(app, ["blocks", csv_of(rare, tmp_path), "illness", "--person", "pid"])
    assert done.exit_code == 0
    assert done.stdout.startswith("illness:\n  sensitive: true\n  stable: true\n  as: block\n  blocks:\n    - [")
    assert "plague" not in done.stdout
    few = "fewer than 3 and so hardly hidden: add such values to a block by hand"
    assert f"1 rare value left out, and published as unlisted, {few}" in done.stderr
    (tmp_path / "policy.yaml").write_text("attributes: {ill: {sensitive: true, distribution: {a: 0.5, b: 0.25, c: 0.25}}}\n")
    done = CliRunner().invoke(app, ["blocks", str(tmp_path / "policy.yaml"), "ill"])
    assert done.stdout.splitlines()[-1] == "    - [a, b, c]"
    one = "one block shows nothing of a value: a lower --least cuts more, or use as: bag"
    assert "; 0 % of the information is kept; " in done.stderr and one in done.stderr
    done = CliRunner().invoke(app, ["blocks", str(tmp_path / "policy.yaml"), "ill", "--most", "40%"])
    assert "one block shows nothing of a value: a --most above 50.0 % cuts more, or use as: bag" in done.stderr


def test_the_picture_is_what_the_code_draws() -> None:
    assert PAGE.read_text(encoding="utf-8") == across().svg()


POLICY = """
person: pid
attributes:
  age: {{quasi: numeric, range: [0, 100], grid: 5}}
  illness: {{sensitive: true, {illness}}}
privacy: {{k: 3}}
window: {{count: 40}}
algorithm: {{name: fads}}
"""
BLOCK = "stable: true, as: block, blocks: [[flu, cold, asthma], [none, migraine, diabetes]]"
ANEW = "stable: true, as: block, blocks: [[flu, cold], [asthma, none, migraine, diabetes]]"
RENAMED = "stable: true, as: block, blocks: {a: [cold, flu, asthma], b: [none, migraine, diabetes]}"
BAG = "stable: true, as: bag, bag: 50"


def pipeline(folder: Path, illness: str, monkeypatch: pytest.MonkeyPatch, sink: str = "out.jsonl", **more: Any) -> PipelineFile:
    monkeypatch.setenv("SHOAL_KEY", "0123456789abcdef0123456789abcdef")
    (folder / "policy.yaml").write_text(POLICY.format(illness=illness))
    source = folder / "in.jsonl"
    if not source.exists():
        source.write_text("".join(json.dumps(row) + "\n" for row in people(400).to_pylist()))
    text = {
        "policy": "policy.yaml", "source": {"file": {"path": "in.jsonl"}}, "sink": {"file": {"path": sink}},
        "state": {"dir": "state", "key": {"env": "SHOAL_KEY"}}, **more,
    }  # fmt: skip
    return PipelineFile.parse(json.dumps(text), folder)


def test_a_pipeline_refuses_blocks_that_are_cut_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Pipe(pipeline(tmp_path, BLOCK, monkeypatch)).run()
    remedy = "keep them as they were, or name another sink"
    said = f"'illness': its blocks have changed; on one sink both together name values: {remedy}"
    with pytest.raises(StateError) as error:
        list(readiness(pipeline(tmp_path, ANEW, monkeypatch)))
    assert str(error.value) == f"{tmp_path / 'state'}: {said}"
    with pytest.raises(StateError):
        Pipe(pipeline(tmp_path, ANEW, monkeypatch)).run()
    with pytest.raises(StateError):
        list(readiness(pipeline(tmp_path, "stable: true, as: exact", monkeypatch)))
    list(readiness(pipeline(tmp_path, RENAMED, monkeypatch)))
    other = pipeline(tmp_path, ANEW, monkeypatch, sink="other.jsonl")
    list(readiness(other))
    Pipe(other).run()
    for illness, sink in ((ANEW, "out.jsonl"), (BLOCK, "other.jsonl")):  # each sink keeps its blocks
        with pytest.raises(StateError) as error:
            list(readiness(pipeline(tmp_path, illness, monkeypatch, sink=sink)))
        assert str(error.value) == f"{tmp_path / 'state'}: {said}"


def test_a_value_that_is_read_as_missing_leaves_its_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who showed a block, and then nothing, has that value."""
    Pipe(pipeline(tmp_path, BLOCK, monkeypatch)).run()
    without = pipeline(tmp_path, BLOCK, monkeypatch)
    (tmp_path / "policy.yaml").write_text((tmp_path / "policy.yaml").read_text() + 'nulls: ["", none]\n')
    with pytest.raises(StateError, match="its blocks have changed"):
        list(readiness(without))


def test_bags_of_a_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bags = {"bags": {"file": {"path": "bags.jsonl"}}}
    with pytest.raises(PolicyError) as error:
        Pipe(pipeline(tmp_path, BAG, monkeypatch))
    place = "say where these go, such as {file: {path: bags.jsonl}}"
    assert error.value.problems == (f"bags: is missing, and the policy publishes illness in bags; {place}",)
    with pytest.raises(PolicyError) as error:
        Pipe(pipeline(tmp_path, BLOCK, monkeypatch, **bags))
    assert error.value.problems == ("bags: no attribute of the policy is published in bags; remove it",)
    Pipe(pipeline(tmp_path, BAG, monkeypatch, **bags)).run()
    found = [json.loads(line) for line in (tmp_path / "bags.jsonl").read_text().splitlines()]
    assert len(found) >= 300 and set(found[0]) == {"attribute", "bag", "value"}
    assert {json.loads(line)["illness"] for line in (tmp_path / "out.jsonl").read_text().splitlines()} == {None}
    lines = list(readiness(pipeline(tmp_path, BAG, monkeypatch, **bags)))
    assert "bags: file can be written" in lines
    Pipe(pipeline(tmp_path, BAG, monkeypatch, **bags)).run()
    assert len((tmp_path / "bags.jsonl").read_text().splitlines()) == len(found)


def test_check_warns_of_values_in_no_block(tmp_path: Path) -> None:
    rows = people(600, persons=150, unknown=0.2)
    illness = {"stable": True, "as": "block", "blocks": BLOCKS}
    of = f"'illness': {rows.column('illness').to_pylist().count('plague')} of 600 rows have a value in no block, and show"
    for more, shown in (({}, "unlisted"), ({"unknown": "null"}, "null")):
        found = [line for line in shoal.check(policy({**illness, **more}), csv_of(rows, tmp_path)).warnings if "block" in line]
        assert found == [f"{of} {shown}, which stands for 1 value, fewer than 2; put it into a block"]
    named = {**illness, "blocks": [*BLOCKS, ["plague", "pox"]]}
    assert not any("no block" in line for line in shoal.check(policy(named), csv_of(rows, tmp_path)).warnings)


def test_check_warns_of_blocks_that_name_a_value(tmp_path: Path) -> None:
    source = csv_of(people(600, persons=150), tmp_path)
    padded = [["flu", "x1", "x2"], ["cold", "x3", "x4"], BLOCKS[1]]
    for blocks, said in (
        (BLOCKS, []),
        (padded, ["'illness': in 2 of 3 blocks one value has more than 90 % of the rows, and is nearly named; shoal blocks "
                  "drafts others"]),
    ):  # fmt: skip
        illness = {"stable": True, "as": "block", "blocks": blocks}
        assert [line for line in shoal.check(policy(illness), source).warnings if "nearly named" in line] == said
