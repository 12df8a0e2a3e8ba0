"""Delta Lake as a sink, by delta-rs: rows, and the number after them as the transaction of an application, in one commit."""

from __future__ import annotations

import json
import os
from urllib.parse import unquote

import pyarrow as pa
from pydantic import Field

from shoal.config import Name
from shoal.connectors.lake_sink import LakeSink
from shoal.connectors.registry import library
from shoal.connectors.rolling import Rolled, refuse_unwritable
from shoal.connectors.settings import Folder, Options, with_secrets
from shoal.connectors.table_columns import plain_type
from shoal.errors import ConnectorError
from shoal.storage import local_path, make_durable


class DeltaSink(LakeSink):
    """The log of the table tells the last number of each application."""

    identity = ("path", "id")
    _check = "the address, the rights and the options"

    class Settings(Rolled):
        path: Folder = Field(description="the folder of the table, or its address in an object store")
        id: Name = Field(default="shoal", description="the application's id in the table's log, one for each pipeline")
        partition: tuple[Name, ...] = Field(default=(), description="published fields to partition a new table by")
        options: Options = Field(default_factory=dict, description="storage options of delta-rs")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._settings = settings
        self._path = str(settings.path)
        self._durable: int | None = None  # the version up to which the table is known to be on the disk
        self.place = f"delta: table {self._path!r}"

    def _connect(self) -> None:
        nested = {field.name for field in self.schema or () if pa.types.is_nested(plain_type(field.type))}
        for field in self._settings.partition:
            self._refuse_partition("partition", field, nested | self._of("period"))
        if (folder := local_path(self._path)) is not None:
            refuse_unwritable(folder, self.place)
        os.environ.setdefault("RUST_LOG", "off")  # its log is not shown, like that of other clients
        self._delta = library("deltalake", "delta")
        self._errors = library("deltalake.exceptions", "delta")
        self._failures = (self._errors.DeltaError, OSError)
        self._options = {key: str(value) for key, value in with_secrets(self._settings.options).items()}
        try:
            self._table = self._delta.DeltaTable(self._path, storage_options=self._options)
            self._make_durable()
        except self._errors.TableNotFoundError:
            self._table = None
        except (self._errors.DeltaError, OSError, ValueError) as error:
            raise self._refused(error) from None

    def _make_durable(self) -> None:
        """Force to the disk what the versions since the last call wrote to a local folder: delta-rs does not."""
        root, version = local_path(self._path), self._table.version()
        is_first, first = self._durable is None, version if self._durable is None else self._durable + 1
        self._durable = version
        if root is None:
            return
        logs = [f"{root}/_delta_log/{number:020}.json" for number in range(first, version + 1)]
        written = [log for log in logs if os.path.exists(log)]
        for log in list(written):
            with open(log, "rb") as lines:
                added = [entry["add"] for entry in map(json.loads, lines) if "add" in entry]
            files = {f"{root}/{unquote(each['path'])}": each["size"] for each in added}
            if is_first and any(_size(path) != size for path, size in files.items()):
                raise ConnectorError(
                    f"{self.place}: a file of its version {version} is not whole, as after a power failure; remove {log}, and "
                    "start again: the state has the tuples of this version"
                )
            written += files
        written += [f"{root}/_delta_log/{number:020}.checkpoint.parquet" for number in range(first, version + 1)]
        written.append(f"{root}/_delta_log/_last_checkpoint")
        make_durable([path for path in written if os.path.exists(path)], root)

    def _committed(self) -> int | None:
        if self._table is None:
            return None
        found = self._table.transaction_version(self._settings.id)
        return None if found is None else int(found)

    def _is_taken(self) -> bool:
        return self._table is not None and bool(self._table.file_uris())

    def _schema(self) -> pa.Schema:
        return pa.schema(self._table.schema().to_arrow())

    def _append(self, table: pa.Table, adds: bool, end: int) -> None:
        done = self._delta.CommitProperties(
            max_commit_retries=0, app_transactions=[self._delta.Transaction(self._settings.id, end)]
        )
        new = {} if self._table else {"partition_by": list(self._settings.partition) or None}
        self._delta.write_deltalake(
            self._table or self._path, table, mode="append" if self._table else "error", commit_properties=done,
            schema_mode="merge" if adds and self._table else None, storage_options=self._options, **new,
        )  # fmt: skip
        self._table = self._table or self._delta.DeltaTable(self._path, storage_options=self._options)
        self._make_durable()


def _size(path: str) -> int | None:
    return os.path.getsize(path) if os.path.exists(path) else None
