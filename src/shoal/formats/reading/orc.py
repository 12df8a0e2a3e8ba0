"""ORC files, one stripe at a time, by Arrow's reader."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.orc

from shoal.formats.reading.reader import Block, opened, slices
from shoal.formats.reading.tables import TableReader


class OrcReader(TableReader):
    """Reads all columns in the types that Arrow gives them."""

    _format = "an ORC"

    def __init__(self, path: str, fields: Sequence[str] | None, rows: int) -> None:
        super().__init__(path, fields, rows)
        with opened(path):
            self._total = os.path.getsize(path)
        try:
            self._file = pyarrow.orc.ORCFile(path)
            schema = self._file.schema
        except (pa.ArrowException, OSError):
            raise self._broken() from None
        self._learn(schema)

    def __iter__(self) -> Iterator[Block]:
        try:
            for stripe in range(self._file.nstripes):
                batch = self._file.read_stripe(stripe, columns=self._present)
                self._done = self._total * (stripe + 1) // self._file.nstripes
                for piece in slices(batch, self._rows):
                    yield self._numbering.block(piece)
        except (pa.ArrowException, OSError):
            raise self._broken() from None

    def close(self) -> None:
        """Nothing to do: the file is closed when it is no longer used."""
