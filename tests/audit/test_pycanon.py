"""Risk and diversity are those of pycanon on the same table.

pycanon fixes versions of numpy, pandas and typer that are not ours, so it runs in an environment of its own, made by
`make pycanon` or named by SHOAL_PYCANON. What it gave for one table is written down here as well.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shoal.audit.diversity import diversity
from shoal.audit.risk import members, risk

HERE = Path(__file__).parent
OWN = Path(os.environ.get("SHOAL_PYCANON", HERE.parents[1] / ".venv-pycanon/bin/python"))

# pycanon 1.3.6 on table(seed=11)
RECORDED = {
    "k": 12,
    "highest": 0.08333333333333333,
    "class_risk": 0.05989206187987989,
    "discernibility": 7228,
    "word": {"distinct": 1, "entropy": 1, "closeness": 0.6699999999999999},
    "number": {"distinct": 10, "entropy": 9, "closeness": 0.166764705882353},
}


def table(seed, records=400, classes=23):
    draw = np.random.default_rng(seed)
    quasi = np.sort(draw.integers(0, classes, records))
    word = (draw.integers(0, 9, records) * (quasi % 5 > 0)).astype(np.int64)
    number = np.round(draw.normal(40, 12, records) + quasi, 0)
    return quasi, word, number


def ours(quasi, word, number):
    size = members(quasi)
    found = risk(size[quasi], threshold=0.1)
    size = size[size > 0]
    figures = {
        "k": found.smallest,
        "highest": found.prosecutor.highest,
        "class_risk": float((1 / size).mean()),
        "discernibility": int((size**2).sum()),
    }
    codes = {"word": (word, False), "number": (np.unique(number, return_inverse=True)[1], True)}
    for name, (values, ordered) in codes.items():
        each = diversity(quasi, values, ordered)
        figures[name] = {"distinct": each.distinct, "entropy": int(each.entropy + 1e-9), "closeness": each.closeness}
    return figures


def theirs(quasi, word, number):
    lines = ["quasi,word,number", *(f"q{q},w{w},{n}" for q, w, n in zip(quasi, word, number, strict=True))]
    run = subprocess.run(
        [OWN, HERE / "pycanon_figures.py"], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=300
    )
    return json.loads(run.stdout)


def close(figures):
    return {name: close(each) if isinstance(each, dict) else pytest.approx(each, rel=1e-9) for name, each in figures.items()}


def test_equals_what_pycanon_gave():
    assert ours(*table(11)) == close(RECORDED)


@pytest.mark.slow
@pytest.mark.skipif(not OWN.exists(), reason="pycanon has no environment; make pycanon, or name one in SHOAL_PYCANON")
@pytest.mark.parametrize("seed", [11, 12, 13])
def test_equals_pycanon_run_now(seed):
    assert ours(*table(seed)) == close(theirs(*table(seed)))


if __name__ == "__main__":
    json.dump(theirs(*table(11)), sys.stdout, indent=2)
