"""FADS in numpy: equal to the engine's where it is the same algorithm, and what K-VARP and X-BAND changed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal.datasets import DataSet
from shoal.experiments.fads import Encoded, Fads, Hierarchy, fads_job, run_fads
from shoal.experiments.runs import run_stream, stream_job

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("source", "missing"), [("Adult", 3), ("INFORMS", 2), ("Beijing", None)])
def test_it_is_the_engines(data: Path, source: str, missing: int | None) -> None:
    plain = run_fads(data, fads_job(source, 20, 60, 500, tuples=None, missing=missing).settings)
    job = stream_job(
        source, {"name": "fads", "reuse_age": 500}, 20, {"count": 60}, tuples=None, missing=missing, extras=["purity"]
    )
    engine = run_stream(data, job.settings)
    assert plain["loss"] == pytest.approx(engine["loss"], rel=1e-12)
    assert engine["reused"] and engine["groups"]
    for name in ("tuples", "groups", "clustered", "reused", "suppressed", "purity"):
        assert plain[name] == engine[name]


def _ages(*ages: int | None, **more: list[str | None]) -> Encoded:
    rows = pa.table({"pid": list(range(len(ages))), "age": pa.array(ages, pa.int64()), **more})
    return Encoded.of(DataSet("", "", Path(), {"age": (0, 100), **dict.fromkeys(more, (0, 1))}, rows))


def test_an_expired_tuple_is_held_back_until_its_partition_has_k() -> None:
    """The second attribute tells two partitions apart; the pair (10, 20) is only complete at the last arrival."""
    other = [1, 1, 1, 1, 1, None]
    encoded = _ages(10, 40, 41, 42, 43, 12, other=[None, *other[1:5], None])
    found = Fads(encoded, 2, 2, 2, 1.0, 0.5).run()
    assert (found["groups"], found["suppressed"], found["late"]) == (3, 0, 1)
    assert found["latest"] == 3
    alone = 0.02
    assert found["penalized"] - found["loss"] == pytest.approx(alone * (1.5**3 - 1) / 6)


def test_what_never_has_company_is_suppressed_at_the_end() -> None:
    encoded = _ages(10, 40, 41, 42, 43, other=[None, 1, 1, 1, 1])
    found = Fads(encoded, 2, 2, 2, 1.0, 0.001).run()
    assert (found["suppressed"], found["late"], found["latest"]) == (1, 1, 2)
    unhindered = Fads(encoded, 2, 2, 2, 1.0, None).run()
    assert (unhindered["suppressed"], unhindered["late"]) == (1, 0)


def test_a_weight_on_patterns_joins_like_with_like() -> None:
    encoded = _ages(10, 11, 40, 12, other=[None, 1, None, 1])
    others = np.array([1, 2, 3])
    by_value = encoded.distances(0, others, 1.0)
    by_pattern = encoded.distances(0, others, 0.25)
    assert by_value.argmin() == 0
    assert by_pattern.argmin() == 1


def test_common_ancestors(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("d;B;Any\na;A;Any\nc;B;Any\nb;A;Any\n")
    tree = Hierarchy.read(tmp_path / "h.csv")
    a, b, c = (tree.leaves[name] for name in "abc")
    assert tree.loss[a, a] == 0
    assert tree.loss[a, b] == pytest.approx(1 / 3)
    assert tree.loss[a, c] == 1
