"""A transfer: encoded tuples for a lane in another process, with the columns that are passed through."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.anonymizer.core import arrivals
from shoal.anonymizer.snapshot import archived, from_archive
from shoal.blocks import Batch, concat
from shoal.columns import Encoded

_UNKNOWN = np.uint64(0xFFFFFFFFFFFFFFFF)  # the second word of an unknown person


class Transfer(NamedTuple):
    tuples: Batch  # the rows of a payload buffer are not set
    kept: pa.Table
    rows: NDArray[np.int64]
    handed_at: NDArray[np.int64]  # how many tuples had arrived when each was handed over; 0 for arrivals

    @staticmethod
    def of(encoded: Encoded) -> Transfer:
        """A transfer of records that were just encoded."""
        none = np.zeros(len(encoded.rows), np.int64)
        return Transfer(arrivals(encoded, none), pa.Table.from_batches([encoded.kept]), encoded.rows, none)

    @property
    def known(self) -> NDArray[np.bool_]:
        """Whose person is known; each tuple of an unknown one counts as a new person."""
        return self.tuples.person[:, 1] != _UNKNOWN

    def select(self, rows: Any) -> Transfer:
        """Some tuples, by a slice, numbers or a mask."""
        number = np.arange(len(self.rows))[rows]
        kept = self.kept.take(number) if self.kept.num_columns else self.kept
        return Transfer(self.tuples.select(rows), kept, self.rows[rows], self.handed_at[rows])

    @staticmethod
    def concat(parts: Sequence[Transfer]) -> Transfer:
        """All parts as one; there must be at least one."""
        if len(parts) == 1:
            return parts[0]
        return Transfer(
            concat([part.tuples for part in parts]), pa.concat_tables([part.kept for part in parts]),
            np.concatenate([part.rows for part in parts]), np.concatenate([part.handed_at for part in parts]),
        )  # fmt: skip

    def to_bytes(self) -> bytes:
        tuples = self.tuples._asdict()
        del tuples["payload"]
        return archived({**tuples, "rows": self.rows, "handed_at": self.handed_at}, self.kept)

    @staticmethod
    def from_bytes(data: bytes) -> Transfer:
        arrays, kept = from_archive(data)
        rows, handed_at = arrays.pop("rows"), arrays.pop("handed_at")
        return Transfer(Batch(payload=np.zeros_like(rows), **arrays), kept, rows, handed_at)
