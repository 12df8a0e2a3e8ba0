"""Apache Iceberg as a sink, by pyiceberg: rows, and the number after them in the properties of their snapshot."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pydantic import Field, field_validator

from shoal.config import Name, refusal
from shoal.connectors.lake_sink import LakeSink
from shoal.connectors.registry import library
from shoal.connectors.rolling import Rolled
from shoal.connectors.settings import Options, with_secrets

NEXT = "shoal.next"  # the property: the number after the last tuple
RETRIES = "commit.retry.num-retries"


class IcebergSink(LakeSink):
    """The newest snapshot that has the number tells what the table has.

    The number is among the table's own properties too, for when that snapshot has expired.
    """

    identity = ("table",)
    _check = "the catalogue and the rights"
    _failures = (Exception,)  # each catalogue raises the errors of its own client

    class Settings(Rolled):
        table: Name = Field(description="the table with its namespace, such as clean.people")
        catalog: Options = Field(description="properties of the catalogue, such as {type: sql, uri: …, warehouse: …}")

        @field_validator("table")
        @classmethod
        def _has_namespace(cls, table: str) -> str:
            if not all(table.rpartition(".")[::2]):
                raise refusal("has no namespace; write it like clean.people")
            return table

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._settings = settings
        self._catalog: Any = None
        self.place = f"iceberg: table {settings.table!r}"

    def _connect(self) -> None:
        catalogs = library("pyiceberg.catalog", "iceberg")
        self._errors = library("pyiceberg.exceptions", "iceberg")
        try:
            if self._catalog is None:
                given = with_secrets(self._settings.catalog)
                if given.get("warehouse", "").startswith(("/", "file:")):
                    given.setdefault("py-io-impl", "shoal.connectors.iceberg_files.DurableFileIO")
                self._catalog = catalogs.load_catalog(given.pop("name", "default"), **given)
            self._table = self._catalog.load_table(self._settings.table)
        except (self._errors.NoSuchTableError, self._errors.NoSuchNamespaceError):
            self._table = None
        except self._failures as error:
            raise self._refused(error) from None

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

    def _schema(self) -> pa.Schema:
        return self._table.schema().as_arrow()

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
