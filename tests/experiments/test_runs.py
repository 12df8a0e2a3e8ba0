"""What is computed from output and trace agrees with the engine's own figures, and with rounds counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from shoal.datasets import DataSet
from shoal.experiments.runs import Output, anonymized, node_losses, stream

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["fads", "kvarp", "xband"])
def test_losses_are_the_engines(data: Path, name: str) -> None:
    found = stream(data, "Adult", None, 5)
    policy = found.policy({"name": name}, 4, {"count": 25})
    stats, output = anonymized(policy, found, found.rows.to_batches())
    assert output.losses.mean() == pytest.approx(stats.loss, rel=1e-12)
    assert len(output.clusters) == stats.groups
    assert output.waits.max() == stats.longest_wait
    assert sum(output.purity()) == stats.groups
    assert output.pollution() == 0


def test_one_value_shown_as_missing_is_pollution(data: Path) -> None:
    found = stream(data, "Adult", None, 5)
    policy = found.policy({"name": "fads"}, 4, {"count": 25})
    _, output = anonymized(policy, found, found.rows.to_batches())
    there = int(np.flatnonzero(output.table.column("sex").is_valid().to_numpy() & (output.how == "cluster"))[0])
    labels = output.table.column("sex").to_pylist()
    labels[there] = None
    spoilt = output.table.set_column(output.table.schema.get_field_index("sex"), "sex", pa.array(labels))
    assert Output(found, spoilt, output.trace).pollution() == pytest.approx(1 / (found.rows.num_rows * 14))


def _of(trace: list[tuple[int, str, int | None, int]], rows: int) -> Output:
    """Row and arrival are the same; (row, how, cluster, released)."""
    row, how, cluster, released = zip(*trace, strict=True)
    table = pa.table({"row": row, "how": how, "cluster": cluster, "arrived": row, "released": released})
    return Output(DataSet("", "", Path(), {}, pa.table({"pid": list(range(rows))})), pa.table({}), table)


def test_rounds_by_hand() -> None:
    """Rounds at arrivals 2, 3 and 3: tuple 3 came after the first, and leaves in the third."""
    output = _of([(0, "cluster", 0, 2), (2, "cluster", 0, 2), (1, "reuse", 0, 3), (3, "suppressed", None, 4)], 4)
    assert output.rounds().tolist() == [1, 1, 2, 1]


def test_the_reuse_set_by_hand() -> None:
    trace = [(0, "cluster", 0, 2), (1, "cluster", 0, 2), (3, "reuse", 0, 4), (2, "cluster", 1, 6), (4, "cluster", 1, 6)]
    assert _of(trace, 5).reusable(3, renewed=False).tolist() == [0, 0, 1, 1, 1, 0, 1]
    assert _of(trace, 5).reusable(3, renewed=True).tolist() == [0, 0, 1, 1, 1, 1, 2]


def test_losses_of_labels(tmp_path: Path) -> None:
    (tmp_path / "h.csv").write_text("a;A;Any\nb;A;Any\nc;c;Any\n")
    assert node_losses(tmp_path / "h.csv") == {"a": 0, "A": 0.5, "Any": 1, "b": 0, "c": 0}
