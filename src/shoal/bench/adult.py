"""UCI Adult as a stream of any length, with missing values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.bench.settings import Contender, Settings
from shoal.datasets.adult import QUASI, SENSITIVE, folder, hierarchy, rows
from shoal.datasets.dataset import losses
from shoal.policy import Policy

__all__ = ["QUASI", "SENSITIVE", "Adult", "folder", "losses", "plain"]


@dataclass(frozen=True)
class Adult:
    """The rows of `adult.data` that miss nothing, and the streams and policies made of them."""

    folder: Path

    def policy(self, contender: Contender, settings: Settings) -> Policy:
        return Policy.parse(self.written(contender, settings), self.folder)

    def written(self, contender: Contender, settings: Settings) -> dict[str, Any]:
        """The policy as a document beside the folder of hierarchies: every row is a person, the first columns quasi."""
        names = list(QUASI)[: settings.quasi]
        attributes: dict[str, Any] = {name: _attribute(name) for name in names}
        return {
            "person": "none",
            "attributes": {**attributes, SENSITIVE: {"sensitive": True}},
            "privacy": {"k": settings.k, "nulls_match": settings.nulls_match},
            "window": {"count": settings.window},
            "algorithm": {"name": contender.name, **contender.parameters},
        }

    def stream(self, tuples: int, settings: Settings) -> list[pa.RecordBatch]:
        """So many tuples in batches, labels as dictionaries: the rows again and again, each time in another order."""
        random = np.random.default_rng(settings.seed)
        rows = self.rows.num_rows
        order = np.concatenate([random.permutation(rows) for _ in range(-(-tuples // rows))])[:tuples]
        lost = losses(tuples, settings.quasi, min(settings.missing, settings.quasi - 1), random)
        columns = {
            name: self.rows.column(name).chunk(0).take(pa.array(order, mask=lost[q]))
            for q, name in enumerate(list(QUASI)[: settings.quasi])
        }
        columns[SENSITIVE] = self.rows.column(SENSITIVE).chunk(0).take(pa.array(order))
        return pa.table(columns).to_batches(max_chunksize=settings.batch)

    @cached_property
    def rows(self) -> pa.Table:
        return rows(self.folder)


def _attribute(name: str) -> dict[str, Any]:
    span = QUASI[name]
    if span is None:
        return {"quasi": "categorical", "hierarchy": hierarchy(name)}
    return {"quasi": "numeric", "range": list(span)}


def plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same batch with its labels as strings."""
    columns = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
