"""A folder of Parquet files, local or in an object store, partitioned by the published time, with a manifest."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from shoal.columns import times
from shoal.config import FrozenModel, Name
from shoal.connectors.rolling import Rolled, RollingSink, refuse_unwritable, remedy
from shoal.connectors.settings import Folder
from shoal.errors import ConnectorError
from shoal.formats import reason
from shoal.storage import force, is_address, opened_store, refuse_missing_bucket, store_reason

MANIFEST = "_manifest"
LOCK = "_lock"
PART = ".part"
MISSING = "__HIVE_DEFAULT_PARTITION__"  # as Hive names the partition of a missing value
DIGITS = 20  # of a number in a name, so that names sort like numbers
PAUSE = 0.5
_FORMS = {"hour": "%Y-%m-%dT%H", "day": "%Y-%m-%d", "month": "%Y-%m"}


class Partition(FrozenModel):
    """The folders below the folder."""

    by: Name = Field(description="a published time; of an interval, its beginning decides")
    every: Literal["hour", "day", "month"] = Field(default="day", description="the length of a partition: hour, day or month")


class ParquetSink(RollingSink):
    """Writes a file for each commit and partition, and an entry of the manifest that names them.

    The entry makes the commit, and names only files that are there. A file has a hidden name until it is whole. What an
    interrupted commit left is removed at the next start, before the same tuples are written again.
    """

    identity = ("path",)

    class Settings(Rolled):
        path: Folder = Field(description="the folder, or its address in an object store, such as s3://bucket/clean")
        partition: Partition | None = Field(default=None, description="folders by time, such as {by: ts, every: day}")

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._folder = str(settings.path)
        self._partition = settings.partition
        self._is_local = not is_address(self._folder)
        self._lock: int | None = None
        self._schema: pa.Schema | None = None
        self._named: set[str] = set()  # local folders whose names are on the disk
        self.place = f"parquet: folder {self._folder!r}"

    def _connect(self) -> None:
        if self._partition:
            self._refuse_partition("partition.by", self._partition.by, self._of("interval", "node"))
        if self._is_local:
            from pyarrow import fs

            self._system, self._root = fs.LocalFileSystem(), self._folder
            refuse_unwritable(self._folder, self.place)
            return
        self._system, self._root = opened_store(self._folder)
        try:
            refuse_missing_bucket(self._system, self._root)
        except OSError as error:
            raise self._refused(error) from None

    def _refused(self, error: Exception) -> ConnectorError:
        why = reason(error) if self._is_local and isinstance(error, OSError) else store_reason(error)
        return ConnectorError(f"{self.place} cannot be written ({why}); {remedy(why)}")

    def _entries(self) -> list[str]:
        """The names of the manifest's entries, in the order of their numbers."""
        return sorted(name for name in self._names_in(MANIFEST) if name.endswith(".json") and not name.startswith("."))

    def _names_in(self, folder: str) -> list[str]:
        from pyarrow import fs

        try:
            found = self._system.get_file_info(fs.FileSelector(f"{self._root}/{folder}".rstrip("/"), allow_not_found=True))
        except OSError as error:
            raise self._refused(error) from None
        return [info.base_name for info in found]

    def _committed(self) -> int | None:
        entries = self._entries()
        if not entries:
            return None
        last = self._entry(entries[-1])
        self._schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(last["schema"])))
        return int(last["end"])

    def _entry(self, name: str) -> dict[str, Any]:
        try:
            with self._system.open_input_stream(f"{self._root}/{MANIFEST}/{name}") as file:
                found: dict[str, Any] = json.loads(file.read())
                return found
        except (OSError, ValueError):
            raise ConnectorError(f"{self.place}: its manifest {name} cannot be read; restore it") from None

    def _is_taken(self) -> bool:
        return bool([name for name in self._names_in("") if name != LOCK])

    def _columns(self) -> pa.Schema | None:
        if self._schema is None:
            self._committed()
        return self._schema

    def _prepare(self, is_probe: bool) -> None:
        if is_probe:
            return
        if self._is_local:
            self._lock_folder()
        for path in self._uncommitted():
            self._system.delete_file(path)

    def _lock_folder(self) -> None:
        try:
            os.makedirs(f"{self._folder}/{MANIFEST}", exist_ok=True)
            self._lock = os.open(f"{self._folder}/{LOCK}", os.O_RDWR | os.O_CREAT, 0o666)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConnectorError(f"{self.place}: another pipeline writes to it; name another folder") from None
        except OSError as error:
            raise self._refused(error) from None

    def _uncommitted(self) -> Iterator[str]:
        """Files of a commit that was interrupted: hidden ones, and those with numbers beyond what is stored."""
        from pyarrow import fs

        for info in self._system.get_file_info(fs.FileSelector(self._root, recursive=True, allow_not_found=True)):
            name = info.base_name
            is_ours = name.endswith(".parquet") and name[: 2 * DIGITS + 1].replace("-", "").isdecimal()
            is_beyond = is_ours and int(name[DIGITS + 1 : 2 * DIGITS + 1]) > self._has
            if info.is_file and (is_beyond or (name.startswith(".") and name.endswith(PART))):
                yield info.path

    def _commit(self, table: pa.Table, added: Sequence[pa.Field], first: int, end: int) -> None:
        files: dict[str, int] = {}
        for folder, part in self._parts(table):
            name = f"{folder}{first:0{DIGITS}}-{end:0{DIGITS}}.parquet"
            self._put(name, part)
            files[name] = part.num_rows
        entry = {
            "first": first, "end": end, "committed": datetime.now(UTC).isoformat(timespec="milliseconds"), "files": files,
            "schema": base64.b64encode(table.schema.serialize()).decode(),
        }  # fmt: skip
        self._put_entry(f"{end:0{DIGITS}}.json", json.dumps(entry, indent=1).encode())
        self._schema = table.schema

    def _parts(self, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        """The parts of a table, by partition; the order of the rows stays."""
        if self._partition is None or self._partition.by not in table.schema.names:
            yield "", table
            return
        by, every = self._partition.by, self._partition.every
        names = _partitions(table.column(by), every, self.place, self.forms.get(by)).dictionary_encode()
        codes = names.indices.to_numpy()
        order = np.argsort(codes, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(names.dictionary))).tolist()
        ordered = table if len(ends) == 1 else table.take(pa.array(order))
        for name, begin, end in zip(names.dictionary.to_pylist(), [0, *ends], ends, strict=False):
            yield f"{every}={name}/", ordered.slice(begin, end - begin)

    def _put(self, name: str, table: pa.Table) -> None:
        import pyarrow.parquet

        def write(out: Any) -> None:
            pyarrow.parquet.write_table(table, out, compression="snappy")

        self._write_file(f"{self._root}/{name}", write)

    def _put_entry(self, name: str, text: bytes) -> None:
        if name in self._entries():
            raise self._overtaken(self._committed())
        self._write_file(f"{self._root}/{MANIFEST}/{name}", lambda out: out.write(text))

    def _write_file(self, path: str, write: Any) -> None:
        """Write a file that is there when it is whole: in an object store every one is."""
        while True:
            try:
                if self._is_local:
                    self._write_local(path, write)
                    return
                with self._system.open_output_stream(path) as out:
                    write(out)
                return
            except OSError as error:
                if self._is_local or store_reason(error) != store_reason(OSError()):
                    raise self._refused(error) from None
                time.sleep(PAUSE)  # the store is away

    def _write_local(self, path: str, write: Any) -> None:
        folder, name = os.path.split(path)
        os.makedirs(folder, exist_ok=True)
        hidden = f"{folder}/.{name}{PART}"
        with open(hidden, "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, path)
        folder, above = os.path.abspath(folder), os.path.dirname(os.path.abspath(self._root))
        force(folder)
        while folder not in self._named and folder != above:  # it may be new, so its own name has to be on the disk too
            self._named.add(folder)
            folder = os.path.dirname(folder)
            force(folder)

    def close(self) -> None:
        super().close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _partitions(column: pa.ChunkedArray, every: str, place: str, form: str | None = None) -> pa.Array:
    """The partition of each value, or of the beginning of its interval: times, or numbers and texts that are times.

    >>> _partitions(pa.chunked_array([[3600.0, None]]), "hour", "").to_pylist()
    ['1970-01-01T01', '__HIVE_DEFAULT_PARTITION__']
    >>> _partitions(pa.chunked_array([["2026-03-01T08:59:59.5Z", "2026-03-01T00:30:00+01:00"]]), "day", "").to_pylist()
    ['2026-03-01', '2026-02-28']
    >>> _partitions(pa.chunked_array([[3_600_000]]), "hour", "", "ms").to_pylist()
    ['1970-01-01T01']
    """
    if pa.types.is_struct(column.type):
        column, form = pc.struct_field(column, "lo"), None  # a generalized time has no form of its own
    if not pa.types.is_timestamp(column.type) and not pa.types.is_date(column.type):
        coded = column.combine_chunks().dictionary_encode()
        found = times(coded.dictionary, (), form)
        if found.wrong.any():
            raise ConnectorError(f"{place}: partition.by: a value is not a time (value withheld); name a field of times")
        moments = pa.array(np.floor(found.values), pa.float64()).cast(pa.int64()).cast(pa.timestamp("s"))
        column = pa.chunked_array([moments.take(coded.indices)])
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    moments = column.cast(pa.timestamp("s", zone), safe=False)
    moments = pc.local_timestamp(moments) if zone else moments  # in a zone, an hour that comes twice a year has no floor
    begins = pc.floor_temporal(moments, unit=every).combine_chunks().dictionary_encode()
    names = pc.strftime(begins.dictionary, _FORMS[every])
    return pc.fill_null(names.take(begins.indices), MISSING)
