"""A small folder laid out as the real one, with generated rows."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from shoal.bench import QUICK
from shoal.datasets.adult import QUASI

ROWS = 200
TINY = replace(
    QUICK, k=3, window=20, rounds=2, small=150, large=400, threads=150, growth=120, audited=400, windows=(20, 40), ks=(2, 4),
    quasis=(2, 14), twin=60, loss_tuples=100, loss_ks=(3,), loss_windows=(20,), batch=64, buffer=2**16,
    observations=4000, users=300, items=50, peer=500,
)  # fmt: skip


def write(data: Path) -> Path:
    """Write rows and hierarchies into data/adult; every tenth row misses a value."""
    home = data / "adult"
    (home / "hierarchies").mkdir(parents=True)
    draw = random.Random(0)
    for name, span in QUASI.items():
        if span is None:
            lines = [f"{name}-{i};{name}-{'ab'[i % 2]};Any" for i in range(6)]
            (home / "hierarchies" / f"{name}.csv").write_text("\n".join(lines) + "\n")
    rows = []
    for number in range(ROWS):
        row = [str(draw.randint(*span)) if span else f"{name}-{draw.randrange(6)}" for name, span in QUASI.items()]
        if number % 10 == 0:
            row[1] = "?"
        rows.append(", ".join([*row, draw.choice(["<=50K", ">50K"])]))
    (home / "adult.data").write_text("\n".join(rows) + "\n\n")
    return data
