"""PostgreSQL as a source, by logical replication: rows as their transactions are committed."""

from __future__ import annotations

import json
import logging
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic import Field

from shoal.config import Name
from shoal.connectors.connector import Delivery, Payload, Position, Source
from shoal.connectors.postgres_link import Link, Login, code
from shoal.errors import ConnectorError

MOST = 10_000  # changes of a delivery; a transaction is never divided
PAUSE = 0.05  # seconds from one look to the next
_NUMBERS = {20, 21, 23, 700, 701, 1700}  # the oids of smallint, integer, bigint, real, double precision, numeric
_BOOL, _JSON = 16, {114, 3802}
UNCHANGED = object()  # stands for a long value that the log does not repeat


log = logging.getLogger("shoal.pipe")


class Transaction(NamedTuple):
    """The rows that a transaction inserted or changed, as JSON lines, and the place in the log after it."""

    end: int
    rows: bytes
    deletes: int  # rows that it deleted, and tables that it emptied


class Table(NamedTuple):
    """A table as the log describes it."""

    name: str
    columns: list[tuple[str, int]]  # names and types


class PostgresSource(Source):
    """Reads the rows that are inserted into the tables of a publication, and those after an update, if it publishes updates.

    A slot keeps the log from its confirmed place on.

    A position is the place in the log after a transaction. The slot is moved on when a checkpoint covers it, so what is behind
    can be read again, in the same order.
    """

    identity = ("database", "publication", "slot")
    replays = True

    class Settings(Login):
        publication: Name = Field(description="the publication of the tables to read, which must exist")
        slot: Name = Field(default="shoal", description="the replication slot, one for each pipeline; it is created if absent")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._link = Link(settings, autocommit=True)
        self._at = 0  # the place in the log after the last transaction that was delivered
        self._deletes = 0
        self._tables: dict[int, Table] = {}  # by their oids

    def begin(self, position: Position | None) -> Position:
        self._link.open()
        confirmed = self._confirmed()
        if confirmed is None and position:
            raise ConnectorError(
                f"postgres: there is no slot {self._settings.slot!r} any more, which kept the rows that were not read; "
                "start with another state"
            )
        if confirmed is None:
            try:
                self._link.connection.execute(
                    "select pg_create_logical_replication_slot(%s, 'pgoutput')", (self._settings.slot,)
                )
            except self._link.psycopg.Error as error:
                raise ConnectorError(
                    f"postgres: slot {self._settings.slot!r} cannot be created ({code(error)}); set wal_level = logical, "
                    "and give the user the right to replicate"
                ) from None
            confirmed = self._confirmed() or 0
        self._at = int(position["at"]) if position else confirmed
        self._deletes = int((position or {}).get("deletes", 0))
        if self._at < confirmed:
            raise ConnectorError(
                f"postgres: slot {self._settings.slot!r} is ahead of the state; another pipeline uses it: give each its own"
            )
        return {"at": self._at, "deletes": self._deletes}

    def _confirmed(self) -> int | None:
        """The place from which on the slot keeps the log; None if there is no slot. Checks the publication, too."""
        run, given = self._link.connection.execute, self._settings
        if run("select 1 from pg_publication where pubname = %s", (given.publication,)).fetchone() is None:
            raise ConnectorError(
                f"postgres: there is no publication {given.publication!r}; "
                f"create publication {given.publication} for table … with (publish = 'insert')"
            )
        query = "select confirmed_flush_lsn - '0/0'::pg_lsn from pg_replication_slots where slot_name = %s"
        found = run(query, (given.slot,)).fetchone()
        return None if found is None else int(found[0])

    def probe(self, position: Position | None) -> bool:
        try:
            self._link.open()
            if self._confirmed() is None and position:
                raise ConnectorError(f"postgres: there is no slot {self._settings.slot!r} any more")
        finally:
            self.close()
        return True

    def _transactions(self, until: int | None) -> Iterator[Transaction]:
        """Transactions behind the last that was delivered, up to a place in the log."""
        upto = None if until is None else _text(until)
        query = (
            "select data from pg_logical_slot_peek_binary_changes(%s, %s::pg_lsn, null, 'proto_version', '1', "
            "'publication_names', %s)"
        )
        with self._link.connection.cursor() as cursor:
            cursor.execute(query, (self._settings.slot, upto, self._settings.publication))
            lines: list[str] = []
            deletes, is_new = 0, False
            for (data,) in cursor:
                message = bytes(data)
                match message[:1]:
                    case b"B":
                        lines, deletes = [], 0
                        (commit,) = struct.unpack_from(">Q", message, 1)
                        is_new = commit >= self._at
                    case b"R":
                        oid, table = _relation(message)
                        self._tables[oid] = table
                    case b"I" | b"U" if is_new:
                        lines.append(json.dumps(_row_after(message, self._tables, self.fields), ensure_ascii=False))
                    case b"D" | b"T":
                        deletes += 1
                    case b"C" if is_new and (lines or deletes):
                        (end,) = struct.unpack_from(">Q", message, 10)
                        if end > self._at:
                            yield Transaction(end, "".join(f"{line}\n" for line in lines).encode(), deletes)

    def _taken(self, found: Sequence[Transaction]) -> list[Payload]:
        """The payloads of transactions, which are counted as read."""
        self._at = found[-1].end
        self._deletes += sum(each.deletes for each in found)
        return [each.rows for each in found if each.rows]

    def replay(self, until: Position) -> Sequence[Payload]:
        goal = int(until["at"])
        if goal <= self._at:
            return []
        found = [each for each in self._transactions(None) if each.end <= goal]
        if not found or found[-1].end != goal:
            raise ConnectorError(
                f"postgres: slot {self._settings.slot!r} does not have all rows any more that must come again; "
                "nobody else may move it on"
            )
        return self._taken(found)

    def read(self, seconds: float) -> Delivery | None:
        until = time.monotonic() + seconds
        while True:
            found: list[Transaction] = []
            try:
                if self._link.connection is None or self._link.connection.closed:
                    self._link.open()
            except ConnectorError:  # the server is away
                time.sleep(min(PAUSE, max(until - time.monotonic(), 0)))
                if time.monotonic() >= until:
                    return None
                continue
            try:
                count = 0
                for each in self._transactions(None):
                    found.append(each)
                    count += each.rows.count(b"\n")
                    if count >= MOST:
                        break
            except self._link.psycopg.OperationalError:  # the server is away
                found = []
                self._link.close()
            except self._link.psycopg.Error as error:
                raise ConnectorError(
                    f"postgres: slot {self._settings.slot!r} cannot be read ({code(error)}); check that it and the publication "
                    "are there, and the rights"
                ) from None
            if found and (payloads := self._taken(found)):
                return Delivery(payloads, {"at": self._at, "deletes": self._deletes})
            if (left := until - time.monotonic()) <= 0:
                return None
            time.sleep(min(PAUSE, left))

    def acknowledge(self, position: Position) -> None:
        with suppress(self._link.psycopg.Error, AttributeError):  # the next one moves it on, too
            self._link.connection.execute(
                "select pg_replication_slot_advance(%s, %s::pg_lsn)", (self._settings.slot, _text(int(position["at"])))
            )

    def close(self) -> None:
        if self._deletes:
            log.info("postgres: %d deletes were not published", self._deletes)
        self._link.close()


def _text(place: int) -> str:
    """
    >>> _text((1 << 32) + 255)
    '1/FF'
    """
    return f"{place >> 32:X}/{place & 0xFFFFFFFF:X}"


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode(), end + 1


def _relation(message: bytes) -> tuple[int, Table]:
    """The oid of a table, and what the log says of it."""
    (oid,) = struct.unpack_from(">I", message, 1)
    schema, at = _string(message, 5)
    table, at = _string(message, at)
    (count,) = struct.unpack_from(">H", message, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        name, at = _string(message, at + 1)
        (kind,) = struct.unpack_from(">I", message, at)
        columns.append((name, kind))
        at += 8
    return oid, Table(f"{schema}.{table}", columns)


def _row_after(message: bytes, known: dict[int, Table], fields: Sequence[str]) -> dict[str, Any]:
    """The values of a row that was inserted or changed, by the names of its columns."""
    (oid,) = struct.unpack_from(">I", message, 1)
    table, at = known[oid], 5
    before: dict[str, Any] = {}
    while (kind := message[at : at + 1]) in (b"K", b"O"):  # the row before, or its key
        row, at = _row(message, at + 1, table)
        before = row if kind == b"O" else {}
    record, _ = _row(message, at + 1, table)
    for name in [name for name, value in record.items() if value is UNCHANGED]:
        if name not in before and name in fields:
            raise ConnectorError(
                f"postgres: the log of {table.name!r} does not have {name!r} of a changed row, since it is long and was not "
                f"changed; alter table {table.name} replica identity full, and begin with another slot"
            )
        record[name] = before.get(name)
    return record


def _row(message: bytes, at: int, table: Table) -> tuple[dict[str, Any], int]:
    """The values of a row, and where they end."""
    (count,) = struct.unpack_from(">H", message, at)
    at += 2
    record: dict[str, Any] = {}
    for name, kind in table.columns[:count]:
        form, at = message[at : at + 1], at + 1
        record[name] = UNCHANGED if form == b"u" else None
        if form in (b"t", b"b"):
            (size,) = struct.unpack_from(">I", message, at)
            record[name] = _value(message[at + 4 : at + 4 + size].decode(), kind)
            at += 4 + size
    return record, at


def _value(text: str, kind: int) -> Any:
    """
    >>> _value("7", 23), _value("t", 16), _value("x", 25), _value("NaN", 701)
    (7, True, 'x', None)
    """
    if kind == _BOOL:
        return text == "t"
    if kind in _JSON:
        return json.loads(text)
    if kind in _NUMBERS:
        return None if text in ("NaN", "Infinity", "-Infinity") else json.loads(text)
    return text
