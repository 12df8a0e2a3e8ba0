"""Apache Iceberg as a sink, by pyiceberg: rows, and the number after them in the properties of their snapshot."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pydantic import Field

from shoal.config import Name
from shoal.connectors.registry import library
from shoal.connectors.rolling import Rolled, RollingSink
from shoal.connectors.settings import Options, with_secrets
from shoal.connectors.table_columns import plain_type
from shoal.errors import ConnectorError

NEXT = "shoal.next"  # the property: the number after the last tuple
RETRIES = "commit.retry.num-retries"
PAUSE = 0.5
ATTEMPTS = 20  # to commit while others change the table, such as by compaction


class IcebergSink(RollingSink):
    """Appends to a table, which it creates. The newest snapshot that has the number tells what the table has.

    The number is among the table's own properties too, for when that snapshot has expired.
    """

    identity = ("table",)

    class Settings(Rolled):
        table: Name = Field(description="the table with its namespace, such as clean.people")
        catalog: Options = Field(description="properties of the catalogue, such as {type: sql, uri: …, warehouse: …}")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._settings = settings
        self._catalog: Any = None
        self._table: Any = None
        self.place = f"iceberg: table {settings.table!r}"

    def _connect(self) -> None:
        catalogs = library("pyiceberg.catalog", "iceberg")
        self._errors = library("pyiceberg.exceptions", "iceberg")
        try:
            if self._catalog is None:
                given = with_secrets(self._settings.catalog)
                self._catalog = catalogs.load_catalog(given.pop("name", "default"), **given)
            self._table = self._catalog.load_table(self._settings.table)
        except (self._errors.NoSuchTableError, self._errors.NoSuchNamespaceError):
            self._table = None
        except Exception as error:  # each catalogue raises the errors of its own client
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> ConnectorError:
        return ConnectorError(
            f"{self.place} cannot be read or written ({type(error).__name__}); check the catalogue and the rights"
        )

    def _committed(self) -> int | None:
        if self._table is None:
            return None
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            found = snapshot.summary.additional_properties.get(NEXT) if snapshot.summary else None
            if found is not None:
                return int(found)
            snapshot = self._table.snapshot_by_id(snapshot.parent_snapshot_id) if snapshot.parent_snapshot_id else None
        found = self._table.properties.get(NEXT)
        return None if found is None else int(found)

    def _is_taken(self) -> bool:
        return self._table is not None and self._table.current_snapshot() is not None

    def _columns(self) -> pa.Schema | None:
        if self._table is None:
            return None
        schema = self._table.schema().as_arrow()
        return pa.schema([(field.name, plain_type(field.type)) for field in schema])

    def _commit(self, table: pa.Table, added: Sequence[pa.Field], first: int, end: int) -> None:
        for attempt in range(ATTEMPTS):
            try:
                self._append(table, bool(added), end)
                return
            except Exception as error:  # each catalogue raises the errors of its own client
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
        if self._table is None:
            self._catalog.create_namespace_if_not_exists(self._settings.table.rpartition(".")[0])
            self._table = self._catalog.create_table(self._settings.table, table.schema)
            adds = False
        self._table.metadata.properties[RETRIES] = "0"  # of this object alone: its own retries would not look at the number
        with self._table.transaction() as transaction:
            if adds:
                with transaction.update_schema() as update:
                    update.union_by_name(table.schema)
            transaction.set_properties({NEXT: str(end)})
            transaction.append(table, snapshot_properties={NEXT: str(end)})
