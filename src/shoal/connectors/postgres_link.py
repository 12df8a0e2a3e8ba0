"""A connection to PostgreSQL, by psycopg."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import Field

from shoal.config import Count, FrozenModel, Name
from shoal.connectors.registry import library
from shoal.connectors.settings import Options, Secret, with_secrets
from shoal.errors import ConnectorError

PAUSE = 0.2  # seconds from one attempt to connect to the next
TIMEOUT = 10  # seconds for one attempt

T = TypeVar("T")


class Login(FrozenModel):
    """The server and the login."""

    host: Name | None = Field(default=None, description="the server, or the folder of its socket; without it what libpq takes")
    port: Count = Field(default=5432, description="the port")
    database: Name = Field(description="the database")
    user: Name | None = Field(default=None, description="the user; without it what libpq takes")
    password: Secret | None = Field(default=None, description="the password, {env: NAME} or {file: PATH}")
    options: Options = Field(default_factory=dict, description="options of libpq, such as sslmode and sslrootcert")


class Server(Login):
    """Where a table is."""

    table: Name = Field(description="the table, with its schema unless that is public, such as people or clean.people")

    @property
    def names(self) -> tuple[str, str]:
        """The schema and the table."""
        schema, _, table = self.table.rpartition(".")
        return schema or "public", table


class Link:
    """One connection, which is made anew if it breaks. No message of the server is shown, since it could hold data."""

    def __init__(self, settings: Login, autocommit: bool = False) -> None:
        self.psycopg: Any = library("psycopg", "postgres")
        self._given, self._autocommit = settings, autocommit
        self.connection: Any = None

    def open(self) -> None:
        """Connect once; a ConnectorError if that is not possible."""
        given = self._given
        known = {"host": given.host, "port": given.port, "dbname": given.database, "user": given.user}
        secret = {"password": given.password.read()} if given.password else {}
        chosen = {key: value for key, value in known.items() if value is not None}
        try:
            self.connection = self.psycopg.connect(
                **{"connect_timeout": TIMEOUT, **chosen, **secret, **with_secrets(given.options)}, autocommit=self._autocommit
            )
        except self.psycopg.Error as error:
            raise ConnectorError(
                f"postgres: no connection to database {given.database!r} ({code(error)}); "
                "check host, port, user and password, and that the server runs"
            ) from None

    def reopen(self) -> None:
        """Connect again, for as long as it takes."""
        self.close()
        while True:
            try:
                self.open()
                return
            except ConnectorError:
                time.sleep(PAUSE)

    def patiently(self, step: Callable[[Any], T], place: str) -> T:
        """A step that may be repeated, until the server answers."""
        while True:
            try:
                return step(self.connection)
            except self.psycopg.Error as error:
                self.raise_lasting(error, place)
                self.reopen()

    def raise_lasting(self, error: Any, place: str) -> None:
        """Raise unless the connection broke, or the server asks to try again."""
        lost = self.connection is None or self.connection.closed or self.connection.broken
        state = error.sqlstate or ""
        if not (lost or state[:2] in ("08", "40", "53", "57") or state == "55P03"):
            raise ConnectorError(
                f"{place} refuses what is written ({code(error)}); check the rights and the types of its columns"
            ) from None

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def code(error: Any) -> str:
    """An error of the server without its text, which could hold data."""
    return f"{type(error).__name__}{', ' + error.sqlstate if error.sqlstate else ''}"
