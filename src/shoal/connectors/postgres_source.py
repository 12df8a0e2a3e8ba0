"""PostgreSQL as a source, by logical replication: rows as their transactions are committed."""

from __future__ import annotations

import json
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


class Transaction(NamedTuple):
    """The rows that a transaction inserted, as JSON lines, and the place in the log after it."""

    end: int
    rows: bytes


class PostgresSource(Source):
    """Reads what is inserted into the tables of a publication. A slot keeps the log from its confirmed place on.

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
        self._columns: dict[int, list[tuple[str, int]]] = {}  # names and types, by the oid of a table

    def begin(self, position: Position | None) -> Position:
        self._link.open()
        confirmed = self._confirmed()
        if confirmed is None and position:
            raise ConnectorError(
                f"postgres: there is no slot {self._settings.slot!r} any more, which kept the rows that were not read; "
                "begin anew with another state"
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
        if self._at < confirmed:
            raise ConnectorError(
                f"postgres: slot {self._settings.slot!r} is ahead of the state; another pipeline uses it: give each its own"
            )
        return {"at": self._at}

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
            for (data,) in cursor:
                message = bytes(data)
                match message[:1]:
                    case b"B":
                        lines = []
                    case b"R":
                        oid, columns = _relation(message)
                        self._columns[oid] = columns
                    case b"I":
                        lines.append(json.dumps(_inserted(message, self._columns), ensure_ascii=False))
                    case b"C":
                        (end,) = struct.unpack_from(">Q", message, 10)
                        if lines and end > self._at:
                            yield Transaction(end, ("\n".join(lines) + "\n").encode())

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
        self._at = goal
        return [each.rows for each in found]

    def read(self, seconds: float) -> Delivery | None:
        until = time.monotonic() + seconds
        while True:
            payloads: list[Payload] = []
            try:
                if self._link.connection is None or self._link.connection.closed:
                    self._link.open()
                count = 0
                for each in self._transactions(None):
                    payloads.append(each.rows)
                    end, count = each.end, count + each.rows.count(b"\n")
                    if count >= MOST:
                        break
            except (ConnectorError, self._link.psycopg.OperationalError):  # the server is away
                payloads = []
                self._link.close()
            if payloads:
                self._at = end
                return Delivery(payloads, {"at": self._at})
            if (left := until - time.monotonic()) <= 0:
                return None
            time.sleep(min(PAUSE, left))

    def acknowledge(self, position: Position) -> None:
        with suppress(self._link.psycopg.Error, AttributeError):  # the next one moves it on, too
            self._link.connection.execute(
                "select pg_replication_slot_advance(%s, %s::pg_lsn)", (self._settings.slot, _text(int(position["at"])))
            )

    def close(self) -> None:
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


def _relation(message: bytes) -> tuple[int, list[tuple[str, int]]]:
    """The oid of a table, and the names and types of its columns."""
    (oid,) = struct.unpack_from(">I", message, 1)
    _, at = _string(message, 5)
    _, at = _string(message, at)
    (count,) = struct.unpack_from(">H", message, at + 1)
    at += 3
    columns = []
    for _ in range(count):
        name, at = _string(message, at + 1)
        (kind,) = struct.unpack_from(">I", message, at)
        columns.append((name, kind))
        at += 8
    return oid, columns


def _inserted(message: bytes, known: dict[int, list[tuple[str, int]]]) -> dict[str, Any]:
    """The values of a row, by the names of its columns."""
    (oid,) = struct.unpack_from(">I", message, 1)
    (count,) = struct.unpack_from(">H", message, 6)
    at = 8
    record: dict[str, Any] = {}
    for name, kind in known[oid][:count]:
        form, at = message[at : at + 1], at + 1
        record[name] = None
        if form in (b"t", b"b"):
            (size,) = struct.unpack_from(">I", message, at)
            record[name] = _value(message[at + 4 : at + 4 + size].decode(), kind)
            at += 4 + size
    return record


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
