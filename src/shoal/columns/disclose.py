"""Observations to records: what the filter lets through, under pseudonyms."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.columns.dictionary import only_used
from shoal.columns.encode import field_of
from shoal.columns.pseudonym import Pseudonyms
from shoal.columns.uniform import column, texts
from shoal.path import head
from shoal.policy import Policy


class Discloser:
    """Builds the published columns: the time as it came, the pseudonym, the item, what is kept."""

    def __init__(self, policy: Policy, pseudonyms: Pseudonyms) -> None:
        assert policy.person and policy.item and policy.time
        self._person, self._item, self._nulls = policy.person, policy.item, policy.nulls
        self._pseudonyms = pseudonyms
        self._labels = pa.array(policy.item.hierarchy.labels if policy.item.hierarchy else [], pa.large_string())
        names = (policy.time.field, policy.person, *policy.item.names, *policy.kept)
        self.nothing = pa.RecordBatch.from_pydict({name: pa.nulls(0) for name in names})
        """What was published last, without its rows."""

    def disclose(
        self, batch: pa.RecordBatch, leaving: NDArray[np.int64], user: NDArray[np.uint64], period: NDArray[np.int64],
        shown: NDArray[np.int32], generalized: NDArray[np.bool_] | None,
    ) -> pa.RecordBatch:  # fmt: skip
        """The rows at `leaving`; the item of each is `shown`, none is -1, and a node of the hierarchy if it is generalized.

        `user` and `period` are those of all rows; `generalized` is None where there is no hierarchy.
        """
        came, named = batch, not pa.types.is_signed_integer(column(batch, self._person).type) and bool(user[:, 1].any())
        if len(leaving) < batch.num_rows:
            names = [name for name in self.nothing.schema.names if name != self._person or named]
            needed = {*names, *map(head, names)}
            batch = batch.select([i for i, name in enumerate(batch.schema.names) if name in needed])
            batch = pc.take(batch, pa.array(leaving), boundscheck=False)
        columns, fields = [], []
        for name in self.nothing.schema.names:
            if name == self._person:
                array = self._pseudonyms.of(user, period, leaving, texts(column(batch, name), ()) if named else None)
            elif name in self._item.names:
                array = self._shown(column(batch, name), shown, generalized)
            else:
                array = column(batch, name)
            array = only_used(array)
            columns.append(array)
            fields.append(field_of(came, name).with_type(array.type))
        published = pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        self.nothing = published.slice(0, 0)
        return published

    def _shown(self, array: pa.Array, shown: NDArray[np.int32], generalized: NDArray[np.bool_] | None) -> pa.Array:
        if generalized is not None:
            array = texts(array, self._nulls)
            if generalized.any():
                labels = self._labels.take(pa.array(shown, mask=~generalized))
                array = pc.if_else(pa.array(generalized), labels, array)
        withheld = shown < 0
        if withheld.any():
            array = pc.if_else(pa.array(withheld), pa.scalar(None, array.type), array)
        return array
