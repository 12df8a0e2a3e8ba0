"""Tuples that wait for a commit: the spool, columns that come and go, two writers, what is said before a start."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import wait
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa
import pytest

from connectors.conformance import batch, pairs
from connectors.processes import Broker
from connectors.table_stores import (
    KINDS,
    LATER,
    DeltaStore,
    IcebergStore,
    ParquetStore,
    PostgresStore,
    TableStore,
    made,
)
from shoal.column_types import JSON, SET
from shoal.connectors.delta_sink import DeltaSink
from shoal.connectors.parquet_sink import ParquetSink, _partitions
from shoal.connectors.rolling import Roll
from shoal.connectors.spool import Spool, Waiting
from shoal.errors import ConnectorError

INTERVAL = pa.struct([("lo", pa.int64()), ("hi", pa.int64()), ("or_missing", pa.bool_())])
LABEL = pa.struct([("value", pa.dictionary(pa.int32(), pa.string())), ("or_missing", pa.bool_())])


@pytest.fixture(params=KINDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> TableStore:
    if request.param == "postgres":
        request.getfixturevalue("postgres_server")
    found = made(request.param, tmp_path, request)
    found.spool = tmp_path / "spool"
    return found


def begun(store: TableStore) -> Any:
    sink = store.sink()
    sink.begin(None, 0)
    sink.caught_up(0)
    return sink


def published(ages: list[Any], cities: list[Any], notes: list[Any] | None = None, first: int = 0) -> pa.RecordBatch:
    count = len(ages)
    columns = {
        "n": pa.array(range(first, first + count), pa.int64()),
        "age": pa.array(ages, INTERVAL),
        "city": pa.StructArray.from_arrays(
            [
                pa.array([city and city["value"] for city in cities]).dictionary_encode(),
                pa.array([bool(city and city["or_missing"]) for city in cities]),
            ],
            names=["value", "or_missing"],
            mask=pa.array([city is None for city in cities]),
        ),
    }
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    if notes is not None:
        columns["note"] = pa.array([None if note is None else json.dumps(note) for note in notes], pa.string())
        fields.append(pa.field("note", pa.string(), metadata=JSON))
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields))


def test_what_waits_survives_a_crash(store: TableStore) -> None:
    """A checkpoint covers tuples that are in the spool, and in no table."""
    store.roll = LATER
    sink = begun(store)
    sink.write(batch(range(10)), 0)
    sink.write(batch(range(10, 20)), 10)
    mark = json.loads(json.dumps(sink.mark))
    sink.make_durable()
    sink.write(batch(range(20, 25)), 20)  # after the checkpoint: the replay brings it again
    sink.close()
    again = store.sink()
    again.begin(mark, 20)
    again.write(batch(range(20, 25)), 20)
    again.caught_up(25)
    again.write(batch(range(25, 30)), 25)
    again.store_waiting(everything=True)
    again.close()
    assert store.held() == pairs(range(30))


def test_what_no_checkpoint_covers_is_dropped(store: TableStore) -> None:
    """The replay may cut it differently, and a crash may follow at once."""
    store.roll = LATER
    sink = begun(store)
    mark = json.loads(json.dumps(sink.mark))
    sink.write(batch(range(10)), 0)
    sink.write(batch(range(10, 20)), 10)
    sink.close()
    again = store.sink()
    again.begin(mark, 0)
    again.write(batch(range(15)), 0)
    again.caught_up(15)
    mark = json.loads(json.dumps(again.mark))
    again.make_durable()
    again.close()
    for _ in range(2):
        last = store.sink()
        last.begin(mark, 15)
        last.close()
    last = store.sink()
    last.begin(mark, 15)
    last.caught_up(15)
    last.store_waiting(everything=True)
    last.close()
    assert store.held() == pairs(range(15))


def test_a_commit_after_the_checkpoint(store: TableStore) -> None:
    """What the checkpoint has in the spool was stored after it."""
    store.roll = LATER
    sink = begun(store)
    sink.write(batch(range(10)), 0)
    mark = json.loads(json.dumps(sink.mark))
    sink.make_durable()
    sink.write(batch(range(10, 15)), 10)
    sink.store_waiting(everything=True)
    sink.write(batch(range(15, 18)), 15)
    sink.close()
    again = store.sink()
    again.begin(mark, 10)
    again.write(batch(range(10, 15)), 10)
    again.write(batch(range(15, 18)), 15)
    again.caught_up(18)
    again.store_waiting(everything=True)
    again.close()
    assert store.held() == pairs(range(18))


def test_a_spool_that_is_gone_is_noticed(store: TableStore) -> None:
    store.roll = LATER
    sink = begun(store)
    sink.write(batch(range(10)), 0)
    mark = sink.mark
    sink.close()
    assert store.spool
    store.spool.unlink()
    again = store.sink()
    with pytest.raises(ConnectorError) as error:
        again.begin(mark, 10)
    again.close()
    assert str(error.value) == (
        f"{again.place} has the tuples up to 0, and those up to 10 are not in the spool of the state any more; "  # type: ignore[attr-defined]
        "restore the whole folder of the state"
    )


def test_a_commit_is_made_by_rows_and_by_time(store: TableStore) -> None:
    store.roll = {"rows": 8, "every": "1h"}
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    sink.store_waiting()
    assert sink.mark["has"] == 0
    sink.write(batch(range(5, 10)), 5)  # a call of write is never divided
    ended(sink)
    assert sink.mark["has"] == 10
    sink._roll = Roll(rows=8, every=0.0)
    sink.write(batch(range(10, 12)), 10)
    sink.store_waiting()
    ended(sink)
    assert sink.mark["has"] == 12
    sink.close()
    assert store.held() == pairs(range(12))


def ended(sink: Any) -> None:
    """Wait for the commit that is being made."""
    wait([sink._task], 20)
    sink.store_waiting()


def test_tuples_are_collected_while_a_commit_is_made(store: TableStore) -> None:
    store.roll = {"rows": 5, "every": "1h"}
    sink = begun(store)
    gate, real = Event(), sink._commit

    def slow(*arguments: Any) -> None:
        assert gate.wait(20)
        real(*arguments)

    sink._commit = slow
    sink.write(batch(range(5)), 0)
    sink.write(batch(range(5, 8)), 5)
    sink.store_waiting()
    mark = json.loads(json.dumps(sink.mark))
    assert mark["has"] == 0
    sink.make_durable()
    assert [each.first for each in Spool(tmp_spool(store)).read()] == [0, 5]
    gate.set()
    ended(sink)
    assert sink.mark["has"] == 5
    sink.make_durable()
    assert [each.first for each in Spool(tmp_spool(store)).read()] == [5]
    sink.close()
    again = store.sink()
    again.begin(mark, 8)
    again.caught_up(8)
    again.store_waiting(everything=True)
    again.make_durable()
    again.close()
    assert tmp_spool(store).stat().st_size == 0
    assert store.held() == pairs(range(8))


def tmp_spool(store: TableStore) -> Path:
    assert store.spool
    return store.spool


def test_a_commit_that_fails_ends_the_pipeline_and_loses_nothing(store: TableStore) -> None:
    store.roll = {"rows": 5, "every": "1h"}
    sink = begun(store)

    def failing(*arguments: Any) -> None:
        raise ConnectorError("no room")

    sink._commit = failing
    sink.write(batch(range(5)), 0)
    sink.write(batch(range(5, 8)), 5)
    mark = json.loads(json.dumps(sink.mark))
    sink.make_durable()
    with pytest.raises(ConnectorError, match="no room"):
        ended(sink)
    sink.close()
    again = store.sink()
    again.begin(mark, 8)
    again.caught_up(8)
    again.store_waiting(everything=True)
    again.close()
    assert store.held() == pairs(range(8))


def test_values_and_their_types(store: TableStore) -> None:
    sink = begun(store)
    first = published([{"lo": 30, "hi": 40, "or_missing": True}], [{"value": "Paris", "or_missing": False}], ['ré, "x"\n'])
    sink.write(first, 0)
    sink.write(published([None], [None], [None], 1), 1)
    sink.close()
    rows = store.rows()
    if isinstance(store, PostgresStore):
        missing = {"age_lo": None, "age_hi": None, "age_or_missing": False, "city": None, "city_or_missing": False}
        shown = {"age_lo": 30.0, "age_hi": 40.0, "age_or_missing": True, "city": "Paris", "city_or_missing": False}
    else:
        missing = {"age": None, "city": None}
        shown = {
            "age": {"lo": 30.0, "hi": 40.0, "or_missing": True},
            "city": {"value": "Paris", "or_missing": False},
        }
    assert rows == [
        {"nr": 0, "n": 0, **shown, "note": 'ré, "x"\n'},
        {"nr": 1, "n": 1, **missing, "note": None},
    ]


def test_sets_and_lists_go_on(store: TableStore) -> None:
    """Commit after commit, and after another start."""
    kinds = pa.schema([("n", pa.int64()), ("city", pa.list_(pa.string())), ("tags", pa.null())])

    def some(n: int) -> pa.RecordBatch:
        return pa.record_batch({"n": [n], "city": pa.array([["Oslo", None]], SET), "tags": pa.array([[n]])})

    sink = store.sink()
    sink.schema = kinds
    sink.begin(None, 0)
    sink.write(some(0), 0)
    sink.write(some(1), 1)
    sink.store_waiting(everything=True)
    mark = sink.mark
    sink.close()
    later = store.sink()
    later.schema = kinds
    later.begin(mark, 2)
    later.caught_up(2)
    later.write(some(2), 2)
    later.store_waiting(everything=True)
    later.close()
    assert [(row["city"], row["tags"]) for row in store.rows()] == [(["Oslo", None], [n]) for n in range(3)]


def test_columns_come_and_go(store: TableStore) -> None:
    """A new column is null in older rows, and one that is no longer published is null in newer ones."""
    sink = begun(store)
    interval, label = {"lo": 1, "hi": 2, "or_missing": False}, {"value": "Oslo", "or_missing": False}
    sink.write(published([interval], [label]), 0)
    sink.write(published([interval], [label], ["new"], 1), 1)
    mark = sink.mark
    sink.close()
    later = store.sink()
    later.schema = pa.schema([("n", pa.int64()), ("age", INTERVAL), ("height", INTERVAL)])
    later.begin(mark, 2)
    later.caught_up(2)
    later.write(published([interval], [label], None, 2).select(["n", "age"]), 2)
    later.close()
    assert [row["note"] for row in store.rows()] == [None, "new", None]
    assert [row["city"] is None for row in store.rows()] == [False, False, True]


def test_check_says_what_will_happen_to_the_columns(store: TableStore) -> None:
    sink = begun(store)
    sink.schema = None
    place = sink.place
    assert next(iter(store.sink().outlook())) == f"{place} is created with the first tuples"
    interval, label = {"lo": 1, "hi": 2, "or_missing": False}, {"value": "Oslo", "or_missing": False}
    sink.write(published([interval], [label]), 0)
    sink.close()
    later = store.sink()
    later.schema = pa.schema([("n", pa.int64()), ("age", INTERVAL), ("height", pa.dictionary(pa.int32(), pa.string()))])
    gone = ["city", "city_or_missing"] if isinstance(store, PostgresStore) else ["city"]
    height = f"{place} gets a new column 'height': older rows are null there"
    visible = "tuples are visible at most 60 s after they left the window, and a commit"
    kept = [f"{place} keeps its column {name!r}: new rows are null there" for name in gone]
    assert later.outlook() == [height, *kept, visible]
    later = store.sink()  # fields whose types only the values tell
    later.schema = pa.schema([("n", pa.null()), ("age", pa.null()), ("height", pa.null())])
    height = f"{place} gets a new column 'height' with its first value: older rows are null there"
    assert later.outlook() == [height, *kept, visible]


def test_a_set_that_would_become_text(postgres_server: Broker) -> None:
    store = PostgresStore(postgres_server)
    sink = begun(store)
    sink.write(pa.record_batch({"city": pa.array([["Oslo"]])}), 0)
    sink.close()
    later = store.sink()
    later.schema = pa.schema([("city", pa.string())])
    with pytest.raises(ConnectorError, match="'city' is JSON there, and would be string; a column never changes its meaning"):
        later.outlook()


def test_a_column_never_changes_its_meaning(store: TableStore) -> None:
    sink = begun(store)
    interval, label = {"lo": 1, "hi": 2, "or_missing": False}, {"value": "Oslo", "or_missing": False}
    sink.write(published([interval], [label], [7]), 0)
    sink.store_waiting(everything=True)
    sink.write(published([interval], [label], ["seven"], 1), 1)
    with pytest.raises(ConnectorError) as error:
        sink.store_waiting(everything=True)
    assert str(error.value) == (
        f"{sink.place}: 'note' is int64 there, and would be string; a column never changes its meaning: name another table, "
        "or publish it under another name"
    )
    mark = sink.mark
    sink.close()
    later = store.sink()
    later.schema = pa.schema([("n", pa.int64()), ("age", pa.string()), ("note", pa.null())])
    if not isinstance(store, PostgresStore):  # there the old columns are age_lo and age_hi
        with pytest.raises(
            ConnectorError, match="'age' is struct<lo: double, hi: double, or_missing: bool> there, and would be"
        ):
            later.probe(mark, 1)
    assert [row["note"] for row in store.rows()] == [7]


def test_whole_numbers_go_on_as_fractions(store: TableStore) -> None:
    """Ends of intervals are floats from the beginning; so no stream is stopped by the first fraction."""
    sink = begun(store)
    ages = pa.StructArray.from_arrays([pa.array([1.5]), pa.array([2.5])], ["lo", "hi"])
    sink.write(pa.record_batch({"n": [0], "age": pa.array([{"lo": 1, "hi": 2}])}), 0)
    sink.write(pa.record_batch({"n": [1], "age": ages}), 1)
    sink.close()
    lows = [row["age_lo"] if isinstance(store, PostgresStore) else row["age"]["lo"] for row in store.rows()]
    assert lows == [1.0, 1.5]


def test_a_second_pipeline_is_noticed(store: TableStore) -> None:
    """A copy of the state elsewhere writes to the same table."""
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    sink.store_waiting(everything=True)
    mark = sink.mark
    other = store.sink()
    other.spool = None
    if isinstance(store, ParquetStore):
        with pytest.raises(ConnectorError, match="another pipeline writes to it; name another folder"):
            other.begin(mark, 5)
        other.close()
        return
    other.begin(mark, 5)
    other.caught_up(5)
    other.write(batch(range(5, 8)), 5)
    sink.write(batch(range(5, 9)), 5)
    with pytest.raises(ConnectorError, match="another one writes to it: give each its own"):
        sink.store_waiting(everything=True)
    sink.close()
    other.write(batch(range(8, 9)), 8)
    other.close()
    assert store.held() == pairs(range(9))


def test_a_table_that_somebody_removed(postgres_server: Broker) -> None:
    """Its number is still there. It is not made anew, neither at a start nor while the pipeline runs."""
    store = PostgresStore(postgres_server)
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    mark = sink.mark
    sink._link.connection.execute(f"drop table {store.table}")
    sink._link.connection.commit()
    said = (
        f"postgres: table 'public.{store.table}' no longer exists, though 5 tuples were stored in it; restore it, or "
        "start with another table and state"
    )
    with pytest.raises(ConnectorError) as error:
        sink.write(batch(range(5, 8)), 5)
    sink.close()
    assert str(error.value) == said
    again = store.sink()
    again.schema = pa.schema([("n", pa.int64())])
    with pytest.raises(ConnectorError) as error:
        again.probe(mark, 5)
    assert str(error.value) == said


MAY_NOT = "postgres: table 'theirs.t': "


@pytest.mark.parametrize(
    ("statements", "said"),
    [
        ("drop schema theirs cascade", MAY_NOT + "there is no schema 'theirs'; create it, or name another one"),
        (
            "grant insert, select on theirs.t to somebody",
            MAY_NOT + "the user lacks a right; grant create on schema theirs, or create both tables: t and shoal_progress",
        ),
        (
            "grant create on schema theirs to somebody",
            MAY_NOT + "the user lacks a right; grant insert and select on t",
        ),
        (
            "grant insert, select on all tables in schema theirs to somebody; "
            "create table theirs.shoal_progress (sink text primary key, next bigint not null)",
            MAY_NOT + "the user lacks a right; grant select, insert and update on shoal_progress",
        ),
        (
            "grant create on schema theirs to somebody; grant insert, select on theirs.t to somebody; "
            "alter table theirs.t rename n to m",
            MAY_NOT + "column 'n' is missing, and the user may not add it; add it",
        ),
        (
            "alter table theirs.t add note text not null; alter table theirs.t owner to somebody; "
            "grant create on schema theirs to somebody",
            MAY_NOT + "column 'note' must not be null, and no field is written to it; give it a default, or let it be null",
        ),
        (
            "create table theirs.shoal_progress (sink text primary key, next bigint not null); "
            "grant select, insert, update on all tables in schema theirs to somebody",
            None,
        ),
    ],
)
def test_rights_are_checked_before_anything_is_taken_in(
    postgres_server: Broker, monkeypatch: pytest.MonkeyPatch, statements: str, said: str | None
) -> None:
    store = PostgresStore(postgres_server)
    store.execute("drop schema if exists theirs cascade; drop role if exists somebody; create role somebody login")
    store.execute("create schema theirs; grant usage on schema theirs to somebody; create table theirs.t (nr bigint, n bigint)")
    store.execute(statements)
    store.table = "theirs.t"
    monkeypatch.setattr(PostgresStore, "server", {**store.server, "user": "somebody"})
    for start in ("probe", "begin"):
        sink = store.sink()
        sink.schema = pa.schema([("n", pa.int64())])
        if said is None:
            getattr(sink, start)(None, 0)
        else:
            with pytest.raises(ConnectorError) as error:
                getattr(sink, start)(None, 0)
            assert str(error.value) == said
        if said is None and start == "begin":
            sink.caught_up(0)
            sink.write(batch(range(3)), 0)
            assert store.held() == pairs(range(3))
        sink.close()


def test_another_table_than_the_state_knows(store: TableStore, tmp_path: Path) -> None:
    sink = store.sink()
    with pytest.raises(ConnectorError) as error:
        sink.begin({"begun": 0, "has": 5}, 5)
    sink.close()
    said = "has the tuples up to 0, but 5 were stored; it is not the one that the state belongs to"
    assert str(error.value) == f"{sink.place} {said}"  # type: ignore[attr-defined]


def test_a_torn_spool(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool")
    some = [Waiting(0, batch(range(5))), Waiting(5, batch(range(5, 9)))]
    spool.hold(some[:1])
    spool.hold(some)
    spool.close()
    whole = (tmp_path / "spool").read_bytes()
    for cut, left in ((len(whole), 2), (len(whole) - 1, 1), (10, 0)):
        (tmp_path / "spool").write_bytes(whole[:cut])
        assert [each.first for each in Spool(tmp_path / "spool").read()] == [0, 5][:left]
    (tmp_path / "spool").write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert [each.first for each in Spool(tmp_path / "spool").read()] == [0]
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is always full")
@pytest.mark.parametrize("kind", [ParquetStore, DeltaStore])
def test_a_folder_that_cannot_be_one(tmp_path: Path, kind: Any) -> None:
    store = kind(tmp_path)
    store.path = Path("/dev/full/clean")
    sink = store.sink()
    with pytest.raises(ConnectorError) as error:
        sink.probe(None, 0)
    assert str(error.value) == f"{sink.place} cannot be written; check the address and the rights of '/dev/full'"


def test_a_disk_that_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so, and what waited is written when there is room."""
    monkeypatch.setattr("shoal.connectors.lake_sink.ATTEMPTS", 1)
    monkeypatch.setattr("shoal.connectors.lake_sink.PAUSE", 0.0)
    for store in (ParquetStore(tmp_path), DeltaStore(tmp_path), IcebergStore(tmp_path)):
        sink = begun(store)
        sink.write(batch(range(5)), 0)

        def full(*arguments: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        step = "_write_local" if isinstance(store, ParquetStore) else "_append"
        with monkeypatch.context() as patch, pytest.raises(ConnectorError) as error:
            patch.setattr(sink, step, full)
            sink.write(batch(range(5, 8)), 5)
        sink.close()
        done = "written" if isinstance(store, ParquetStore) else "read or written"
        assert str(error.value) == f"{sink.place} cannot be {done} (no space left on device); make room, and start again"
        again = store.sink()
        again.begin(sink.mark, 5)
        again.write(batch(range(5, 8)), 5)
        again.close()
        assert store.held() == pairs(range(8))


def test_a_delta_table_is_partitioned_by_plain_fields(tmp_path: Path) -> None:
    sink = DeltaStore(tmp_path).opened(DeltaSink, path=tmp_path / "delta", partition=["age"])
    sink.fields, sink.schema = ("age", "note"), pa.schema([("age", INTERVAL), ("note", pa.null())])
    with pytest.raises(ConnectorError) as error:
        sink.probe(None, 0)
    assert str(error.value) == f"{sink.place}: partition: 'age' is generalized; choose among note"


def test_partitions_by_the_published_time(tmp_path: Path) -> None:
    sink = ParquetSink(
        ParquetSink.Settings.model_validate({"path": tmp_path / "clean", "roll": {"rows": 1}, "partition": {"by": "t"}})
    )
    sink.begin(None, 0)
    times = pa.array([{"lo": 0, "hi": 10}, {"lo": 86_400, "hi": 86_410}, None])
    sink.write(pa.record_batch({"t": times, "n": [0, 1, 2]}), 0)
    sink.close()
    name = "00000000000000000000-00000000000000000003.parquet"
    entry = json.loads((tmp_path / "clean" / "_manifest" / "00000000000000000003.json").read_text())
    assert entry["files"] == {
        f"day=1970-01-01/{name}": 1, f"day=1970-01-02/{name}": 1, f"day=__HIVE_DEFAULT_PARTITION__/{name}": 1
    }  # fmt: skip
    assert (entry["first"], entry["end"]) == (0, 3)
    assert sorted(str(path.relative_to(tmp_path / "clean")) for path in (tmp_path / "clean").rglob("*.parquet")) == sorted(
        entry["files"]
    )


def test_partitions_of_the_hour_that_comes_twice() -> None:
    utc = pa.chunked_array([pa.array([1792888200, 1792891800, None], pa.timestamp("s", "UTC"))])
    here = utc.cast(pa.timestamp("s", "Europe/Berlin"))
    assert _partitions(here, "hour", "").to_pylist()[:2] == ["2026-10-25T02"] * 2
    assert _partitions(here, "day", "").to_pylist() == ["2026-10-25", "2026-10-25", "__HIVE_DEFAULT_PARTITION__"]


def test_an_interrupted_commit_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that no entry of the manifest names are removed, and the same tuples are written again."""
    store = ParquetStore(tmp_path)
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    mark = sink.mark

    def killed(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ParquetSink, "_put_entry", killed)
    with pytest.raises(KeyboardInterrupt):
        sink.write(batch(range(5, 9)), 5)
    sink.close()
    monkeypatch.undo()
    (store.path / ".draft.parquet.part").touch()
    assert len(list(store.path.rglob("[0-9]*.parquet"))) == 2
    again = store.sink()
    again.begin(mark, 5)
    assert [path.name[-12:] for path in store.path.rglob("*.parquet*")] == ["0005.parquet"]
    again.write(batch(range(5, 9)), 5)
    again.close()
    assert store.held() == pairs(range(9))


def test_text_that_postgres_cannot_hold(postgres_server: Broker) -> None:
    store = PostgresStore(postgres_server)
    sink = begun(store)
    sink.write(pa.record_batch({"n": [0, 1, 2], "note": ["a\0b", "", None]}), 0)
    sink.close()
    assert [row["note"] for row in store.rows()] == ["ab", "", None]


def test_nested_values_in_postgres(postgres_server: Broker) -> None:
    store = PostgresStore(postgres_server)
    sink = begun(store)
    sink.write(pa.record_batch({"n": [0, 1], "seen": pa.array([["a", "b"], None])}), 0)
    sink.close()
    assert [row["seen"] for row in store.rows()] == [["a", "b"], None]


def test_a_server_that_is_not_there() -> None:
    from shoal.connectors.postgres_sink import PostgresSink

    sink = PostgresSink(PostgresSink.Settings.model_validate({"host": "127.0.0.1", "port": 1, "database": "d", "table": "t"}))
    with pytest.raises(ConnectorError) as error:
        sink.begin(None, 0)
    sink.close()
    assert str(error.value) == (
        "postgres: no connection to database 'd' (OperationalError); check host, port, user and password, "
        "and that the server runs"
    )


def test_compaction_by_others_is_no_second_pipeline(tmp_path: Path) -> None:
    import deltalake

    store = DeltaStore(tmp_path)
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    sink.write(batch(range(5, 10)), 5)
    deltalake.DeltaTable(store.path).optimize.compact()
    sink.write(batch(range(10, 15)), 10)
    mark = sink.mark
    sink.close()
    again = store.sink()
    again.begin(mark, 15)
    again.close()
    assert store.held() == pairs(range(15))


def test_a_snapshot_that_expired(tmp_path: Path) -> None:
    """Another's snapshot is the newest, and ours is gone: the table's own property tells the number."""
    from pyiceberg.catalog import load_catalog

    store = IcebergStore(tmp_path)
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    mark = sink.mark
    sink.close()
    table = load_catalog("default", **store.catalog).load_table("clean.people")
    table.delete("n = 4")
    assert "shoal.next" not in table.current_snapshot().summary.additional_properties
    again = store.sink()
    again.begin(mark, 5)
    again.write(batch(range(5, 6)), 5)
    again.close()
    assert store.held() == [*pairs(range(4)), (5, 5)]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells the names of open files")
def test_the_disk_has_a_file_before_the_catalogue_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    forced: set[str] = set()
    real, commit = os.fsync, SqlCatalog.commit_table

    def fsync(file: int) -> None:
        forced.add(os.readlink(f"/proc/self/fd/{file}"))
        real(file)

    def committed(catalog: SqlCatalog, *arguments: Any) -> Any:
        files = {str(path) for path in (tmp_path / "warehouse").rglob("*")}
        assert files <= forced
        seen.append(len(files))
        return commit(catalog, *arguments)

    seen: list[int] = []
    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(SqlCatalog, "commit_table", committed)
    store = IcebergStore(tmp_path)
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    sink.write(batch(range(5, 10)), 5)
    sink.close()
    assert len(seen) == 2 and seen[0] < seen[1]
    assert {str(path) for path in (tmp_path / "warehouse").rglob("*")} <= forced
    assert store.held() == pairs(range(10))


def test_a_power_failure_after_a_commit(tmp_path: Path) -> None:
    """The log names a file that the disk does not have as a whole."""
    store = DeltaStore(tmp_path)
    sink = begun(store)
    sink.write(batch(range(5)), 0)
    mark = sink.mark
    sink.write(batch(range(5, 10)), 5)
    sink.close()
    log = store.path / "_delta_log" / "00000000000000000001.json"
    (name,) = [entry["add"]["path"] for entry in map(json.loads, log.read_text().splitlines()) if "add" in entry]
    (store.path / name).write_bytes(b"")
    with pytest.raises(ConnectorError) as error:
        store.sink().begin(mark, 5)
    assert str(error.value) == (
        f"delta: table '{store.path}': a file of its version 1 is not whole, as after a power failure; remove {log}, and start "
        "again: the state has the tuples of this version"
    )
    log.unlink()
    again = store.sink()
    again.begin(mark, 5)
    again.write(batch(range(5, 10)), 5)
    again.close()
    assert store.held() == pairs(range(10))
