"""How much each algorithm loses, at the same k and the same longest wait, beside what is possible with everything in view."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypedDict

from shoal.anonymizer import Stats
from shoal.bench.datasets import datasets
from shoal.bench.session import Session, anonymize
from shoal.bench.settings import Contender
from shoal.bench.table import NOTHING, Table
from shoal.datasets import ORDERS, DataSet

QUICK, THOROUGH = "tide quick", "tide thorough"
AIMS = {"Adult": (0.25, 0.28), "INFORMS": (0.25, 0.28), "PM2.5": (0.14, 0.17)}  # how much less, quick and thorough
_OFFLINE = Contender("offline", "tide", {"effort": "thorough"})


class Cell(TypedDict):
    data: str
    family: str
    order: str
    k: int
    window: int
    loss: dict[str, float]  # by contender
    suppressed: dict[str, int]
    offline: float | None


class Loss(TypedDict):
    cells: list[Cell]
    tuples: int


def measure(session: Session) -> Loss:
    s = session.settings
    found = list(datasets(session.adult.folder.parent, s.seed))
    cells = []
    for i, data in enumerate(found):
        session.step(data.name, i, len(found))
        short = data.head(s.loss_tuples)
        for k in s.loss_ks:
            offline = _run(short, _OFFLINE, k, 2 * short.rows.num_rows).loss
            cells += [_cell(session, short, ORDERS[0], k, window, offline) for window in s.loss_windows]
        if i in (1, len(found) - 1):
            k, window = s.loss_ks[len(s.loss_ks) // 2], s.loss_windows[len(s.loss_windows) // 2]
            cells += [_cell(session, short.ordered(order, s.seed), order, k, window, None) for order in ORDERS[1:]]
    return {"cells": cells, "tuples": s.loss_tuples}


def _cell(session: Session, data: DataSet, order: str, k: int, window: int, offline: float | None) -> Cell:
    found = {each.label: _run(data, each, k, window) for each in session.contenders}
    return {
        "data": data.name, "family": data.family, "order": order, "k": k, "window": window,
        "loss": {label: stats.loss for label, stats in found.items()},
        "suppressed": {label: stats.suppressed for label, stats in found.items()}, "offline": offline,
    }  # fmt: skip


def _run(data: DataSet, contender: Contender, k: int, window: int) -> Stats:
    """X-BAND's pocket is part of the wait: a half or a quarter of it, whichever loses less."""
    if contender.name == "xband":
        tried = []
        for pocket in (window // 2, window // 4):
            pocketed = replace(contender, parameters={**contender.parameters, "reuse_age": pocket})
            tried.append(_anonymized(data, pocketed, k, max(k, window - pocket)))
        return min(tried, key=lambda stats: stats.loss)
    return _anonymized(data, contender, k, window)


def _anonymized(data: DataSet, contender: Contender, k: int, window: int) -> Stats:
    policy = data.policy(contender.algorithm, k, {"count": window})
    return anonymize(policy, data.rows.combine_chunks().to_batches())


def tables(result: Loss) -> list[Table]:
    plain = [cell for cell in result["cells"] if cell["order"] == ORDERS[0]]
    turned = [cell for cell in result["cells"] if cell["order"] != ORDERS[0]]
    found = [_means(plain, result["tuples"])]
    if (summary := _summary(plain)).rows:
        found.append(summary)
    for data in dict.fromkeys(cell["data"] for cell in plain):
        own = [cell for cell in plain if cell["data"] == data]
        found.append(_table(f"Loss: {data}", "k, window", {f"{cell['k']}, {cell['window']:,}": cell for cell in own}))
    for data in dict.fromkeys(cell["data"] for cell in turned):
        own = [cell for cell in turned if cell["data"] == data]
        title = f"Loss: {data} in other orders, and with persons who come back; k {own[0]['k']}, window {own[0]['window']:,}"
        found.append(_table(title, "rows", {cell["order"]: cell for cell in own}))
    return found


def _table(title: str, varied: str, cells: Mapping[str, Cell]) -> Table:
    header = (varied, "best other", "loss", "tide quick", "less", "thorough", "less", "offline")
    rows = []
    for where, cell in cells.items():
        name = best_other(cell)
        rows.append((
            where, name or NOTHING, _loss(cell["loss"].get(name)), _loss(cell["loss"].get(QUICK)), _less(cell, QUICK),
            _loss(cell["loss"].get(THOROUGH)), _less(cell, THOROUGH), _loss(cell["offline"]),
        ))  # fmt: skip
    return Table(title, header, rows)


def _means(cells: Sequence[Cell], tuples: int) -> Table:
    """The geometric mean over k and window of what each loses, a column a family of data sets."""
    families = list(dict.fromkeys(cell["family"] for cell in cells))
    rows = [
        (label, *(_loss(_mean(cell["loss"][label] for cell in cells if cell["family"] == family)) for family in families))
        for label in cells[0]["loss"]
    ]
    limit = (_loss(_mean(cell["offline"] or 0.0 for cell in cells if cell["family"] == family)) for family in families)
    note = (
        "Geometric means over the data sets of a kind, all k and windows. The longest wait is the window, X-BAND's pocket "
        "included. Offline: tide with all tuples in view."
    )
    return Table(f"Loss, {tuples:,} tuples", ("algorithm", *families), [*rows, ("offline", *limit)], [note])


def _summary(cells: Sequence[Cell]) -> Table:
    """How much less than the best other in each cell, against the aims."""
    rows = []
    for family, aims in AIMS.items():
        own = [cell for cell in cells if cell["family"] == family and best_other(cell)]
        for label, aim in zip((QUICK, THOROUGH), aims, strict=True):
            if own and all(label in cell["loss"] for cell in own):
                ratios = [cell["loss"][label] / cell["loss"][best_other(cell)] for cell in own]
                more = sum(cell["suppressed"][label] > cell["suppressed"].get("fads", 0) for cell in own)
                rows.append((
                    f"{family}, {label}", f"{100 * (1 - _mean(ratios)):.1f} %", f"{100 * aim:.0f} %",
                    f"{100 * (1 - max(ratios)):.1f} %", f"{100 * (1 - min(ratios)):.1f} %", str(more),
                ))  # fmt: skip
    header = ("data, effort", "less", "aim", "worst cell", "best cell", "more suppressed")
    return Table("Tide against the best other in each cell", header, rows, ["More suppressed: in so many cells than by fads."])


def best_other(cell: Cell) -> str:
    """The algorithm besides tide that loses least; nothing if there is none.

    >>> best_other({"loss": {"fads": 0.5, "idea": 0.4, "tide quick": 0.3}})
    'idea'
    """
    others = {label: loss for label, loss in cell["loss"].items() if not label.startswith("tide")}
    return min(others, key=lambda label: others[label], default="")


def _less(cell: Cell, label: str) -> str:
    other = best_other(cell)
    if not other or label not in cell["loss"]:
        return NOTHING
    return f"{100 * (1 - cell['loss'][label] / cell['loss'][other]):.1f} %"


def _loss(loss: float | None) -> str:
    return NOTHING if loss is None else f"{loss:.4f}"


def _mean(values: Iterable[float]) -> float:
    logs = [math.log(max(value, 1e-12)) for value in values]
    return math.exp(sum(logs) / len(logs))
