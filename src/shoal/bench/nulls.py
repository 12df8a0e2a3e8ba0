"""What each reading of nulls costs: the losses of every algorithm where nulls match any value, match nulls, or are roots."""

from __future__ import annotations

from typing import TypedDict

from shoal.bench.datasets import datasets
from shoal.bench.session import Session, anonymize
from shoal.bench.table import Table

READINGS = ("maybe", "extended", "root")


class Row(TypedDict):
    data: str
    algorithm: str
    loss: dict[str, float]  # by reading


class Nulls(TypedDict):
    rows: list[Row]
    k: int
    window: int
    tuples: int


def measure(session: Session) -> Nulls:
    s = session.settings
    found = [data.head(s.loss_tuples) for data in datasets(session.adult.folder.parent, s.seed) if data.misses]
    rows: list[Row] = []
    steps = [(data, contender) for data in found for contender in session.contenders]
    k = min(s.k, s.loss_ks[len(s.loss_ks) // 2])
    for i, (data, contender) in enumerate(steps):
        session.step(f"{data.name}, {contender.label}", i, len(steps))
        batches = data.rows.combine_chunks().to_batches()
        policies = {
            reading: data.policy(contender.algorithm, k, {"count": s.window}, nulls_match=reading) for reading in READINGS
        }
        losses = {reading: anonymize(policy, batches).loss for reading, policy in policies.items()}
        rows.append({"data": data.name, "algorithm": contender.label, "loss": losses})
    return {"rows": rows, "k": k, "window": s.window, "tuples": s.loss_tuples}


def tables(result: Nulls) -> list[Table]:
    title = f"What a reading of nulls costs: loss at k {result['k']}, window {result['window']:,}, {result['tuples']:,} tuples"
    rows = []
    for row in result["rows"]:
        loss = row["loss"]
        more = loss["extended"] / loss["maybe"] - 1 if loss["maybe"] else 0.0
        shown = [f"{loss[reading]:.4f}" for reading in READINGS]
        rows.append((f"{row['data']}, {row['algorithm']}", *shown, f"{100 * more:+.1f} %"))
    header = ("most missing, algorithm", *READINGS, "extended against maybe")
    return [Table(title, header, rows, ["Under maybe an observer who takes nulls for values sees classes of fewer than k."])]
