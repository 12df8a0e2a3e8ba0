"""What a measurement of every part holds."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from shoal.bench import PARTS, Report, measure, plot
from shoal.bench.files import FORMATS
from shoal.cli.bench import EXAMPLES
from shoal.errors import InputError
from tests.bench.adult import TINY

pytestmark = pytest.mark.slow

ALGORITHMS = ["fads", "xband 4", "xband 10"]


def test_json_holds_everything(measured: Report) -> None:
    told = json.loads(measured.to_json())
    assert set(told) == {"machine", "parameters", "parts", "provenance"}
    assert list(told["provenance"]) == ["version", "commit", "command", "machine", "seeds", "data_sha256"]
    assert "adult.data " in told["provenance"]["data_sha256"] and told["provenance"]["seeds"] == str(TINY.seed)
    assert set(told["machine"]) == {"cpu", "cores", "memory", "system", "versions", "core", "load"}
    assert len(told["machine"]["load"]) == 2
    assert told["parameters"]["k"] == TINY.k
    assert told["parameters"]["seed"] == TINY.seed
    assert [each["label"] for each in told["parameters"]["algorithms"]] == ALGORITHMS
    assert list(told["parts"]) == list(PARTS)


def test_each_algorithm_has_a_row_in_each_part(measured: Report) -> None:
    for part in ("speed", "twins", "threads", "roofline"):
        assert [row["algorithm"] for row in measured.parts[part]["rows"]] == ALGORITHMS
    assert len(measured.parts["growth"]["rows"]) == 3 * 2 * len(ALGORITHMS)
    assert [row["format"] for row in measured.parts["files"]["rows"]] == list(FORMATS)


def test_times_are_those_of_every_round(measured: Report) -> None:
    for row in measured.parts["speed"]["rows"]:
        assert row["large"]["tuples"] == TINY.large
        assert len(row["large"]["seconds"]) == TINY.rounds
        assert min(row["large"]["seconds"]) <= row["large"]["median"] <= max(row["large"]["seconds"])
        assert 0 < row["loss"] <= 1


def test_twins_agree(measured: Report) -> None:
    assert measured.parts["twins"]["absent"] is None
    assert all(row["same"] for row in measured.parts["twins"]["rows"])
    assert all(row["twin"] for row in measured.parts["speed"]["rows"])


def test_the_memory_of_a_process_is_its_own(measured: Report) -> None:
    for row in measured.parts["files"]["rows"]:
        assert 10e6 < row["peak_small"] < 4e9
        assert row["read"] > 0 and row["written"] > 0
    assert measured.parts["files"]["start"]["median"] > 0


def test_an_audit_is_timed_with_a_trace_and_without(measured: Report) -> None:
    found = measured.parts["audit"]
    assert [(row["kind"], row["trace"]) for row in found["rows"]] == [
        (kind, traced) for kind in ("tuples", "observations") for traced in (True, False)
    ]
    assert all(row["held"] for row in found["rows"])
    assert {row["timing"]["tuples"] for row in found["rows"]} == {TINY.audited}
    assert 10e6 < found["peak_small"] < 4e9
    assert 10e6 < found["peak_large"] < 4e9


def test_a_report_survives_json(measured: Report) -> None:
    again = Report.from_json(measured.to_json())
    assert again.tables() == measured.tables()
    assert again.headline == measured.headline


def test_tables_are_whole(measured: Report) -> None:
    for table in measured.tables():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.header)}
        assert table.markdown().count("\n| ") == len(table.rows) + 1


@pytest.mark.parametrize(("name", "start"), [("bench.png", b"\x89PNG"), ("bench.svg", b"<?xml")])
def test_the_plot(measured: Report, tmp_path: Path, name: str, start: bytes) -> None:
    plot(measured, tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(start)


def test_a_plot_needs_a_kind_and_a_part(measured: Report, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.png or \.svg"):
        plot(measured, tmp_path / "bench.txt")
    files = Report(measured.machine, measured.parameters, {"files": measured.parts["files"]})
    with pytest.raises(InputError, match="a plot shows speed, growth, sparse"):
        plot(files, tmp_path / "bench.png")


def test_without_a_checkout_the_twins_are_told_to_be_absent(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = measure(["twins", "speed"], algorithms=["fads"], data=data, workload=TINY)
    (twins,) = (table for table in found.tables() if "naive twin" in table.title)
    assert not twins.rows
    assert "only in a checkout" in twins.notes[0]
    assert found.parts["speed"]["rows"][0]["twin"] is None


def test_the_cores_are_given_back(measured: Report) -> None:
    if hasattr(os, "sched_getaffinity") and (os.cpu_count() or 1) > 1:
        assert len(os.sched_getaffinity(0)) > 1


def test_unknown_parts_and_algorithms_are_refused(data: Path) -> None:
    with pytest.raises(InputError, match="part 'sped' is none; known are default, speed, files"):
        measure(["sped"], data=data)
    with pytest.raises(InputError, match="algorithm 'fades' is none; known are fads"):
        measure(["speed"], algorithms=["fades"], data=data)


def test_each_part_is_described() -> None:
    readme = (Path(__file__).parents[2] / "benchmarks/README.md").read_text()
    for part in PARTS:
        assert f"| `{part}` |" in readme
        assert f"\n  {part} " in EXAMPLES
