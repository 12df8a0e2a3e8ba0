from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from shoal.checks import check
from shoal.demo import prepare, wearables
from shoal.demo.wearables import BATCH
from shoal.errors import InputError, PolicyError
from shoal.policy.algorithm import WINDOWED


def table(tuples: int, seed: int = 0) -> pa.Table:
    return pa.Table.from_batches(wearables(tuples, seed))


def test_a_seed_gives_one_stream() -> None:
    assert table(2000).equals(table(2000))
    assert not table(2000).equals(table(2000, seed=1))


def test_the_length_is_exact() -> None:
    assert [table(n).num_rows for n in (1, 2000, BATCH, BATCH + 1)] == [1, 2000, BATCH, BATCH + 1]


def test_persons_come_back_and_most_tuples_miss_something() -> None:
    stream = table(20_000)
    assert pc.count_distinct(stream["pid"]).as_py() < 5000
    complete = stream.drop_null().num_rows
    assert 0 < complete < 10_000
    assert stream["illness"].null_count == stream["pid"].null_count == stream["ts"].null_count == 0
    assert stream["ts"].to_pylist() == sorted(stream["ts"].to_pylist())


def test_the_stream_fits_its_policy(tmp_path: Path) -> None:
    demo = prepare(tmp_path / "demo", 20_000)
    findings = check(demo.policy, demo.source, rows=20_000)
    assert findings.problems == ()
    assert findings.rows == 20_000


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "policy.yaml").write_text("person: me\n")
    with pytest.raises(InputError) as caught:
        prepare(tmp_path, 10)
    told = "holds other things than an earlier demo; name another folder, or empty this one"
    assert str(caught.value) == f"{tmp_path}: {told}"
    assert [path.name for path in tmp_path.iterdir()] == ["policy.yaml"]


def test_an_earlier_demo_is_replaced(tmp_path: Path) -> None:
    prepare(tmp_path, 10)
    demo = prepare(tmp_path, 20, seed=1)
    assert len(demo.source.read_text().splitlines()) == 20


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        prepare(tmp_path / "demo", 10)


def test_an_unknown_algorithm(tmp_path: Path) -> None:
    with pytest.raises(PolicyError) as caught:
        prepare(tmp_path / "demo", 10, algorithm="magic")
    assert caught.value.problems == (f"algorithm: 'magic' is none; known are {', '.join(WINDOWED)}",)
    assert not (tmp_path / "demo").exists()
