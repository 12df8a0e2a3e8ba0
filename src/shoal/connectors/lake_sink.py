"""What sinks that write to a lake have in common: a commit is tried again while others change the table."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from shoal.connectors.rolling import RollingSink, remedy
from shoal.connectors.table_columns import plain_type
from shoal.errors import ConnectorError
from shoal.storage import store_reason

PAUSE = 0.5
ATTEMPTS = 20  # to commit while others change the table, such as by compaction


class LakeSink(RollingSink):
    """Appends to a table, which it creates."""

    _failures: tuple[type[Exception], ...] = ()  # what the client raises
    _check = ""  # what to check if it cannot be read or written
    _table: Any = None  # None if there is none yet

    @abstractmethod
    def _append(self, table: pa.Table, adds: bool, end: int) -> None:
        """Append rows, and the number after them, in one commit. `adds`: there are new columns."""

    def _refused(self, error: Exception) -> ConnectorError:
        """What to say of an error that stays."""
        why = store_reason(error, type(error).__name__)
        return ConnectorError(f"{self.place} cannot be read or written ({why}); {remedy(why, self._check)}")

    @abstractmethod
    def _schema(self) -> pa.Schema:
        """The columns of the table as it has them."""

    def _columns(self) -> pa.Schema | None:
        if self._table is None:
            return None
        return pa.schema([(field.name, plain_type(field.type)) for field in self._schema()])

    def _commit(self, table: pa.Table, added: Sequence[pa.Field], first: int, end: int) -> None:
        for attempt in range(ATTEMPTS):
            try:
                self._append(table, bool(added), end)
                return
            except self._failures as error:
                failure = error
            time.sleep(PAUSE * min(attempt, 4))
            self._connect()
            if self._has_come(end):
                return
        raise self._refused(failure)
