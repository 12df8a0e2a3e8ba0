from __future__ import annotations

import itertools
from typing import Any

import psycopg
import pytest

from connectors.conformance import Feed, SourceConformance, drained
from connectors.processes import Broker
from shoal.connectors.postgres_source import PostgresSource
from shoal.errors import ConnectorError

_names = map("raw{}".format, itertools.count())


class PostgresFeed(Feed):
    def __init__(self, broker: Broker) -> None:
        self.broker, self.name = broker, next(_names)
        self.run(f"create table {self.name} (n bigint, note text)")
        self.run(f"create publication {self.name} for table {self.name} with (publish = 'insert')")
        self.run(f"select pg_create_logical_replication_slot('{self.name}', 'pgoutput')")

    def run(self, *queries: str) -> None:
        assert self.broker
        with psycopg.connect(host="127.0.0.1", port=self.broker.port, user="shoal", dbname="postgres") as connection:
            for query in queries:
                connection.execute(query)  # type: ignore[arg-type]

    def source(self, **changes: Any) -> PostgresSource:
        assert self.broker
        where = {"host": "127.0.0.1", "port": self.broker.port, "user": "shoal", "database": "postgres"}
        return PostgresSource(
            PostgresSource.Settings.model_validate({**where, "publication": self.name, "slot": self.name, **changes})
        )

    def give(self, numbers: range) -> None:
        self.run(f"insert into {self.name} select * from generate_series({numbers.start}, {numbers.stop - 1})")

    def drop(self) -> None:
        self.run(f"select pg_drop_replication_slot('{self.name}')")


@pytest.fixture
def feed(postgres_server: Broker) -> Any:
    one = PostgresFeed(postgres_server)
    yield one
    one.drop()


class TestSource(SourceConformance):
    pass


def test_rows_come_in_the_order_of_commits(feed: PostgresFeed) -> None:
    """A row with a smaller key whose transaction is committed later is not missed."""
    source = feed.source()
    source.begin(None)
    with psycopg.connect(host="127.0.0.1", port=feed.broker.port, user="shoal", dbname="postgres") as late:  # type: ignore[union-attr]
        late.execute(f"insert into {feed.name} values (1)")  # type: ignore[arg-type]
        feed.run(f"insert into {feed.name} values (2)")
        found, _ = drained(source, 1)
        assert found == [2]
        late.commit()
    assert drained(source, 1)[0] == [1]
    feed.run(f"update {feed.name} set n = 3", f"delete from {feed.name}")
    with psycopg.connect(host="127.0.0.1", port=feed.broker.port, user="shoal", dbname="postgres") as undone:  # type: ignore[union-attr]
        undone.execute(f"insert into {feed.name} values (4)")  # type: ignore[arg-type]
        undone.rollback()
    assert source.read(0.1) is None
    source.close()


def test_values(feed: PostgresFeed) -> None:
    feed.run(
        f"alter table {feed.name} add b boolean, add f double precision, add d date, add j jsonb",
        f"""insert into {feed.name} values (1, E'a "b"\\né', true, 1.5, '2026-01-31', '{{"x": [1]}}')""",
        f"insert into {feed.name} values (2)",
    )
    source = feed.source()
    source.begin(None)
    delivery = source.read(60)
    source.close()
    assert delivery
    assert [bytes(payload) for payload in delivery.payloads if isinstance(payload, bytes)] == [
        '{"n": 1, "note": "a \\"b\\"\\né", "b": true, "f": 1.5, "d": "2026-01-31", "j": {"x": [1]}}\n'
        '{"n": 2, "note": null, "b": null, "f": null, "d": null, "j": null}\n'.encode()
    ]


def test_changed_rows_are_read_if_the_publication_has_them(feed: PostgresFeed) -> None:
    """A delete is counted, also where its transaction has nothing else."""
    feed.run(
        f"alter publication {feed.name} set (publish = 'insert, update, delete')",
        f"alter table {feed.name} add primary key (n), alter note set storage external",
        f"insert into {feed.name} values (1, 'a'), (2, 'b')",
        f"update {feed.name} set note = 'c' where n = 1",
    )
    feed.run(f"delete from {feed.name} where n = 2")
    feed.run(f"update {feed.name} set n = 7 where n = 1")
    source = feed.source()
    beginning = source.begin(None)
    found, position = drained(source, 4)
    assert found == [1, 2, 1, 7]
    assert position["deletes"] == 1
    again = feed.source()
    again.begin(beginning)
    payloads = [payload for payload in again.replay(position) if isinstance(payload, bytes)]
    assert b"".join(payloads).splitlines()[-1] == b'{"n": 7, "note": "c"}'
    again.close()
    feed.run(f"insert into {feed.name} values (8, repeat('x', 9000))")
    feed.run(f"update {feed.name} set n = 9 where n = 8")
    source.fields = ["n", "note"]
    with pytest.raises(ConnectorError) as error:
        drained(source, 2)
    assert str(error.value) == (
        f"postgres: the log of 'public.{feed.name}' does not have 'note' of a changed row, since it is long and was not "
        f"changed; alter table public.{feed.name} replica identity full, and begin with another slot"
    )
    source.fields = ["n"]
    assert drained(source, 2)[0] == [8, 9]
    feed.run(f"alter table {feed.name} replica identity full", f"update {feed.name} set n = 10 where n = 9")
    source.fields = ["n", "note"]
    delivery = source.read(60)
    source.close()
    assert delivery and [len(payload) > 9000 for payload in delivery.payloads if isinstance(payload, bytes)] == [True]


def test_a_slot_that_is_dropped_meanwhile(feed: PostgresFeed) -> None:
    source = feed.source()
    source.begin(None)
    feed.drop()
    with pytest.raises(ConnectorError) as error:
        source.read(1)
    source.close()
    assert str(error.value) == (
        f"postgres: slot '{feed.name}' cannot be read (UndefinedObject, 42704); check that it and the publication are there, "
        "and the rights"
    )
    feed.source().begin(None)


def test_the_slot_is_created(feed: PostgresFeed) -> None:
    feed.drop()
    source = feed.source()
    source.begin(None)
    feed.give(range(3))
    found, position = drained(source, 3)
    source.close()
    assert found == [0, 1, 2]
    feed.drop()
    again = feed.source()
    with pytest.raises(ConnectorError) as error:
        again.begin(position)
    again.close()
    assert str(error.value) == (
        f"postgres: there is no slot '{feed.name}' any more, which kept the rows that were not read; start with another state"
    )
    feed.source().begin(None)


def test_an_unknown_publication(feed: PostgresFeed) -> None:
    source = feed.source(publication="none")
    with pytest.raises(ConnectorError) as error:
        source.begin(None)
    source.close()
    assert str(error.value) == (
        "postgres: there is no publication 'none'; create publication none for table … with (publish = 'insert')"
    )


def test_a_slot_that_somebody_moved_on(feed: PostgresFeed) -> None:
    source = feed.source()
    beginning = source.begin(None)
    feed.give(range(3))
    _, position = drained(source, 3)
    source.close()
    other = feed.source()
    other.begin(None)
    other.acknowledge(position)
    other.close()
    again = feed.source()
    with pytest.raises(ConnectorError) as error:
        again.begin(beginning)
    again.close()
    said = "is ahead of the state; another pipeline uses it: give each its own"
    assert str(error.value) == f"postgres: slot '{feed.name}' {said}"
