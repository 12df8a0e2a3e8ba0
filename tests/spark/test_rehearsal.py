"""What a worker has rehearsed, it need not load or compile in its first task."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed; pip install 'shoal-stream[spark]'")

from shoal.policy import FILTER, all_windowed

PROGRAM = """
import json, sys
from shoal.compiled import machine_code
known, find = [], machine_code.find
machine_code.find = lambda kernel, kinds: known.append(str((kernel.__name__, kinds))) or find(kernel, kinds)
from shoal.spark import rehearsal
name = sys.argv[1]
rehearsal.rehearse(name)
before = set(known)
known.clear()
rehearsal._ATTRIBUTES = {
    "age": {"quasi": "numeric", "range": [0, 100]}, "pulse": {"quasi": "numeric", "range": [0, 300], "grid": 5},
    "ill": {"quasi": "categorical", "hierarchy": {"any": ["x", "y", "z"]}}, "city": {"publish": "keep"},
}
rehearsal._LANES, rehearsal._WINDOWS = 3, ({"time": 11}, {"count": 13})
rehearsal.rehearse(name)
print(json.dumps([len(before), sorted(set(known) - before)]))
"""


@pytest.mark.parametrize("name", ["fads", FILTER])
def test_another_policy_needs_no_other_kernel(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, name], capture_output=True, text=True, check=True)
    loaded, missed = json.loads(done.stdout)
    assert loaded > 5
    assert missed == []


def test_all_are_rehearsed(monkeypatch: pytest.MonkeyPatch) -> None:
    from shoal.spark import rehearsal

    names: list[str] = []
    monkeypatch.setattr(rehearsal, "_run", lambda policy: names.append(policy.algorithm.name))
    rehearsal.rehearse("all")
    assert set(names) == {FILTER, *all_windowed()}
    names.clear()
    rehearsal.rehearse("tide, zanon, unknown")
    assert set(names) == {"tide", FILTER}
    names.clear()
    rehearsal.rehearse("")
    assert names == []
