"""Frames of polars: intervals are structs of lo and hi, labels its own categories, sets lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from shoal.frames.kind import Arrived, Kind, wanted


class Polars(Kind):
    """A LazyFrame is collected, and comes out lazy."""

    def arrow(self, frame: Any, fields: Sequence[str]) -> Arrived:
        names = frame.collect_schema().names()
        asked = frame.select(wanted(names, fields))
        table = (asked.collect() if isinstance(asked, pl.LazyFrame) else asked).to_arrow()
        return Arrived(table.schema, table.to_batches(), names)

    def from_arrow(self, table: pa.Table, frame: Any) -> Any:
        published = pl.from_arrow(table)
        assert isinstance(published, pl.DataFrame)
        return published.lazy() if isinstance(frame, pl.LazyFrame) else published
