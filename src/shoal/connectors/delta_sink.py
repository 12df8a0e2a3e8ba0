"""Delta Lake as a sink, by delta-rs: rows, and the number after them as the transaction of an application, in one commit."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pydantic import Field

from shoal.config import Name
from shoal.connectors.registry import library
from shoal.connectors.rolling import Rolled, RollingSink
from shoal.connectors.settings import Folder, Options, with_secrets
from shoal.connectors.table_columns import plain_type
from shoal.errors import ConnectorError

PAUSE = 0.5
ATTEMPTS = 20  # to commit while others change the table, such as by compaction


class DeltaSink(RollingSink):
    """Appends to a table, which it creates. The log of the table tells the last number of each application."""

    identity = ("path", "id")

    class Settings(Rolled):
        path: Folder = Field(description="the folder of the table, or its address in an object store")
        id: Name = Field(default="shoal", description="the application's id in the table's log, one for each pipeline")
        partition: tuple[Name, ...] = Field(default=(), description="published fields to partition a new table by")
        options: Options = Field(default_factory=dict, description="storage options of delta-rs")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._settings = settings
        self._path = str(settings.path)
        self._table: Any = None
        self.place = f"delta: table {self._path!r}"

    def _connect(self) -> None:
        self._delta = library("deltalake", "delta")
        self._errors = library("deltalake.exceptions", "delta")
        self._options = {key: str(value) for key, value in with_secrets(self._settings.options).items()}
        try:
            self._table = self._delta.DeltaTable(self._path, storage_options=self._options)
        except self._errors.TableNotFoundError:
            self._table = None
        except (self._errors.DeltaError, OSError, ValueError) as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> ConnectorError:
        return ConnectorError(
            f"{self.place} cannot be read or written ({type(error).__name__}); check the address, the rights and the options"
        )

    def _committed(self) -> int | None:
        if self._table is None:
            return None
        found = self._table.transaction_version(self._settings.id)
        return None if found is None else int(found)

    def _is_taken(self) -> bool:
        return self._table is not None and bool(self._table.file_uris())

    def _columns(self) -> pa.Schema | None:
        if self._table is None:
            return None
        schema = pa.schema(self._table.schema().to_arrow())
        return pa.schema([(field.name, plain_type(field.type)) for field in schema])

    def _commit(self, table: pa.Table, added: Sequence[pa.Field], first: int, end: int) -> None:
        for attempt in range(ATTEMPTS):
            try:
                self._append(table, bool(added), end)
                self._connect()
                return
            except (self._errors.DeltaError, OSError) as error:
                failure = error
            time.sleep(PAUSE * min(attempt, 4))
            self._connect()
            stands = self._committed()
            if stands == end:
                return
            if stands != self._has and not (stands is None and self._has == self._begun):
                raise self._overtaken(stands)
        raise self._refused(failure)

    def _append(self, table: pa.Table, adds: bool, end: int) -> None:
        done = self._delta.CommitProperties(
            max_commit_retries=0, app_transactions=[self._delta.Transaction(self._settings.id, end)]
        )
        new = {} if self._table else {"partition_by": list(self._settings.partition) or None}
        self._delta.write_deltalake(
            self._table or self._path, table, mode="append" if self._table else "error", commit_properties=done,
            schema_mode="merge" if adds and self._table else None, storage_options=self._options, **new,
        )  # fmt: skip
