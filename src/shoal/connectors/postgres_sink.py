"""PostgreSQL as a sink: rows by COPY, and the number after them, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from pydantic import Field

from shoal.connectors.postgres_link import Link, Server
from shoal.connectors.rolling import Roll, Rolled, RollingSink
from shoal.connectors.table_columns import IN_JSON, json_texts
from shoal.errors import ConnectorError

PROGRESS = "shoal_progress"  # the table of numbers, in the schema of the table that is written
PIECE = 4 << 20  # bytes of COPY that are sent at a time
_RIGHTS = """
select has_schema_privilege(n.oid, 'create'), t.oid is not null,
       has_any_column_privilege(t.oid, 'insert') and has_any_column_privilege(t.oid, 'select'),
       pg_has_role(t.relowner, 'usage'), p.oid is not null,
       has_table_privilege(p.oid, 'select') and has_table_privilege(p.oid, 'insert') and has_table_privilege(p.oid, 'update')
from pg_namespace n left join pg_class t on t.relnamespace = n.oid and t.relname = %s
     left join pg_class p on p.relnamespace = n.oid and p.relname = %s
where n.nspname = %s
"""
_NEEDED = """
select column_name from information_schema.columns
where table_schema = %s and table_name = %s and is_nullable = 'NO' and column_default is null and is_identity = 'NO'
  and is_generated = 'NEVER'
"""
_TYPES = {"bool": "boolean", "int64": "bigint", "double": "double precision", "string": "text", "date32[day]": "date"}
_KINDS = {
    "boolean": pa.bool_(), "bigint": pa.int64(), "integer": pa.int64(), "smallint": pa.int64(),
    "double precision": pa.float64(), "real": pa.float64(), "numeric": pa.float64(), "date": pa.date32(),
    "jsonb": IN_JSON, "timestamp with time zone": pa.timestamp("us", "UTC"), "timestamp without time zone": pa.timestamp("us"),
}  # fmt: skip


class PostgresSink(RollingSink):
    """Appends to a table, which it creates. The number is in a table of its own, in the row of this sink."""

    identity = ("database", "table")
    is_flat = True

    class Settings(Server, Rolled):
        roll: Roll = Field(
            default=Roll(rows=100_000, every=1.0), description="when tuples are stored, such as {rows: 100k, every: 1s}"
        )

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._link = Link(settings)
        self._names = settings.names
        self.place = f"postgres: table {'.'.join(self._names)!r}"

    def _connect(self) -> None:
        self._link.open()
        sql = self._link.psycopg.sql
        self._table = sql.Identifier(*self._names)
        self._progress = sql.Identifier(self._names[0], PROGRESS)

    def _exists(self, connection: Any, table: str) -> bool:
        found = connection.execute(
            "select 1 from information_schema.tables where table_schema = %s and table_name = %s", (self._names[0], table)
        ).fetchone()
        return found is not None

    def _committed(self) -> int | None:
        return self._link.patiently(self._read_number, self.place)

    def _read_number(self, connection: Any) -> int | None:
        with connection.transaction():
            if not self._exists(connection, PROGRESS):
                return None
            query = self._link.psycopg.sql.SQL("select next from {} where sink = %s").format(self._progress)
            found = connection.execute(query, (self._names[1],)).fetchone()
            return None if found is None else int(found[0])

    def _is_taken(self) -> bool:
        connection = self._link.connection
        with connection.transaction():
            if not self._exists(connection, self._names[1]):
                return False
            query = self._link.psycopg.sql.SQL("select exists (select from {})").format(self._table)
            return bool(connection.execute(query).fetchone()[0])

    def _prepare(self, is_probe: bool) -> None:
        if self.schema is not None:
            self._link.patiently(self._refuse_rights, self.place)

    def _refuse_rights(self, connection: Any) -> None:
        """Before anything is taken in: the schema is there, and the user may do what the first commit does."""
        schema, table = self._names
        with connection.transaction():
            found = connection.execute(_RIGHTS, (table, PROGRESS, schema)).fetchone()
            needed = connection.execute(_NEEDED, self._names).fetchall()
        if found is None:
            raise ConnectorError(f"{self.place}: there is no schema {schema!r}; create it, or name another one")
        creates, has_table, inserts, owns, has_progress, counts = found
        change = self._change()
        fields = [field.name for field in change.added]
        if not (creates or (has_table and has_progress)):
            lacks = f"create on schema {schema}, or create both tables: {table} and {PROGRESS}"
        elif has_table and not inserts:
            lacks = f"insert and select on {table}"
        elif has_progress and not counts:
            lacks = f"select, insert and update on {PROGRESS}"
        elif has_table and fields and not owns:
            raise ConnectorError(f"{self.place}: column {fields[0]!r} is missing, and the user may not add it; add it")
        elif filled := [name for (name,) in needed if name in change.missing]:
            raise ConnectorError(
                f"{self.place}: column {filled[0]!r} must not be null, and no field is written to it; give it a default, or "
                "let it be null"
            )
        else:
            return
        raise ConnectorError(f"{self.place}: the user lacks a right; grant {lacks}")

    def _columns(self) -> pa.Schema | None:
        return self._link.patiently(self._read_columns, self.place)

    def _read_columns(self, connection: Any) -> pa.Schema | None:
        with connection.transaction():
            rows = connection.execute(
                "select column_name, data_type from information_schema.columns where table_schema = %s and table_name = %s "
                "order by ordinal_position",
                self._names,
            ).fetchall()
        return pa.schema([(name, _KINDS.get(kind, pa.string())) for name, kind in rows]) if rows else None

    def _commit(self, table: pa.Table, added: Sequence[pa.Field], first: int, end: int) -> None:
        text = _csv(table)
        while True:
            try:
                with self._link.connection.transaction():
                    self._advance(end)
                    self._add_columns(added)
                    self._copy(table.schema.names, text)
                return
            except self._link.psycopg.Error as error:
                self._link.raise_lasting(error, self.place)
            self._link.reopen()
            if self._has_come(end):  # the answer to the commit was lost, and not the commit
                return

    def _advance(self, end: int) -> None:
        """Write the number, if it is still the one that this sink wrote before."""
        sql, run = self._link.psycopg.sql.SQL, self._link.connection.execute
        if self._has == self._begun:
            run("select pg_advisory_xact_lock(hashtext('shoal'))")  # two sinks must not create the table at the same time
            if not self._exists(self._link.connection, PROGRESS):
                run(sql("create table {} (sink text primary key, next bigint not null)").format(self._progress))
            query = sql("insert into {} values (%s, %s) on conflict do nothing").format(self._progress)
            is_first = run(query, (self._names[1], end)).rowcount
            if is_first:
                return
        query = sql("update {} set next = %s where sink = %s and next = %s").format(self._progress)
        if not run(query, (end, self._names[1], self._has)).rowcount:
            raise ConnectorError(
                f"{self.place} does not end at the tuple {self._has} that this pipeline stored last; another one writes to it: "
                "give each its own"
            )

    def _add_columns(self, added: Sequence[pa.Field]) -> None:
        if not added:
            return
        sql = self._link.psycopg.sql
        columns = [sql.SQL("{} {}").format(sql.Identifier(field.name), sql.SQL(_type(field.type))) for field in added]
        self._link.connection.execute(
            sql.SQL("create table if not exists {} ({})").format(self._table, sql.SQL(", ").join(columns))
        )
        adding = sql.SQL(", ").join(sql.SQL("add column if not exists ") + column for column in columns)
        self._link.connection.execute(sql.SQL("alter table {} {}").format(self._table, adding))

    def _copy(self, names: Sequence[str], text: memoryview) -> None:
        sql = self._link.psycopg.sql
        columns = sql.SQL(", ").join(map(sql.Identifier, names))
        with (
            self._link.connection.cursor() as cursor,
            cursor.copy(sql.SQL("copy {} ({}) from stdin (format csv)").format(self._table, columns)) as copy,
        ):
            for at in range(0, len(text), PIECE):
                copy.write(text[at : at + PIECE])

    def close(self) -> None:
        super().close()
        self._link.close()


def _type(kind: pa.DataType) -> str:
    """
    >>> _type(pa.float64()), _type(pa.timestamp("us", "UTC")), _type(pa.list_(pa.string()))
    ('double precision', 'timestamp with time zone', 'jsonb')
    """
    if pa.types.is_timestamp(kind):
        return f"timestamp {'with' if kind.tz else 'without'} time zone"
    return "jsonb" if pa.types.is_nested(kind) else _TYPES.get(str(kind), "text")


def _csv(table: pa.Table) -> memoryview:
    """Rows for COPY: an empty cell is null, text is quoted. PostgreSQL has no character NUL in text; it is left out."""
    columns = []
    for column in table.columns:
        if pa.types.is_nested(column.type):
            column = json_texts(column)
        elif str(column.type) not in _TYPES and not pa.types.is_timestamp(column.type):
            column = column.cast(pa.string())
        if pa.types.is_string(column.type) and pc.any(pc.match_substring(column, "\0")).as_py():
            column = pc.replace_substring(column, "\0", "")
        columns.append(column)
    out = pa.BufferOutputStream()
    pyarrow.csv.write_csv(
        pa.table(columns, [str(i) for i in range(len(columns))]),
        out,
        pyarrow.csv.WriteOptions(include_header=False, quoting_style="needed"),
    )
    return memoryview(out.getvalue())
