"""Parquet and Arrow files: typed columns in, typed columns out."""

from __future__ import annotations

import contextlib
import datetime
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shoal.column_types import SET, interval
from shoal.errors import InputError
from shoal.formats.reading.utf8 import NOT_UTF8
from shoal.formats.writing import tables
from tests.formats.base import bad, blurred_intervals, blurred_labels, intervals, json_batch, numbers, read, values, write

SUFFIXES = ["parquet", "arrow"]

TABLE = pa.table(
    {
        "n": pa.array([1, None, 3], pa.int32()),
        "s": ["x", "y", None],
        "d": pa.array(["p", None, "p"]).dictionary_encode(),
        "t": pa.array([datetime.datetime(2020, 1, 1)] * 3, pa.timestamp("us")),
        "l": [[1, 2], None, []],
    }
)


def put(path: Path, table: pa.Table, **options: Any) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    return path


def got(path: Path) -> pa.Table:
    if path.suffix == ".parquet":
        return pq.read_table(path)
    with pa.memory_map(str(path)) as file:
        return pa.ipc.open_file(file).read_all()


@pytest.fixture(params=SUFFIXES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / f"file.{request.param}"


def test_columns_keep_their_values_in_the_asked_order(path: Path) -> None:
    put(path, TABLE)
    names = ["l", "s", "absent", "t", "d", "n"]
    blocks = read(path, names, passed=["l", "s"])
    assert numbers(blocks) == [0, 1, 2]
    assert values(blocks, "absent") == [None] * 3
    for name in set(names) - {"absent"}:
        assert values(blocks, name) == TABLE[name].to_pylist()
    schema = blocks[0].batch.schema
    assert schema.field("s").type == pa.string()
    assert schema.field("absent").type == pa.null()


def test_asked_strings_of_parquet_come_as_dictionaries(tmp_path: Path) -> None:
    put(tmp_path / "in.parquet", TABLE)
    schema = read(tmp_path / "in.parquet", ["s", "n"])[0].batch.schema
    assert schema.field("s").type == pa.dictionary(pa.int32(), pa.string())
    assert schema.field("n").type == pa.int32()


def test_blocks_hold_at_most_the_asked_rows(path: Path) -> None:
    put(path, pa.table({"n": range(1000)}))
    blocks = read(path, ["n"], rows=64)
    assert max(len(block.batch) for block in blocks) == 64
    assert values(blocks, "n") == numbers(blocks) == list(range(1000))
    assert numbers(read(path, ["absent"], rows=64)) == list(range(1000))


def test_no_rows_are_no_blocks_of_rows(path: Path) -> None:
    put(path, TABLE.slice(0, 0))
    assert numbers(read(path, ["n"])) == []


def test_a_stream_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "in.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, TABLE.schema) as writer:
        writer.write_table(TABLE)
    assert values(read(path, ["n", "d"]), "d") == ["p", None, "p"]


def test_text_that_is_no_utf8(path: Path) -> None:
    broken = pa.array([b"a", b"\xff", b"c"]).view(pa.string())
    entries = pa.array([b"\xff", b"p"]).view(pa.string())
    coded = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int32()), entries)
    put(path, pa.table({"s": broken, "d": coded, "n": [1, 2, 3]}))
    assert values(read(path, ["n"]), "n") == [1, 2, 3]
    blocks = read(path, ["n", "s", "d"])
    assert values(blocks, "n") == [1]
    assert bad(blocks) == [(1, NOT_UTF8), (2, NOT_UTF8)]


def test_two_columns_of_one_name_are_refused(path: Path) -> None:
    put(path, pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]))
    with pytest.raises(InputError, match=r"has two columns named 'a'; rename one of them"):
        read(path, ["a"])


@pytest.mark.parametrize("keep", [0, 3, 100, -1, -30])
def test_what_is_damaged_is_refused(path: Path, keep: int) -> None:
    put(path, pa.table({"a": range(1000), "b": ["text"] * 1000}))
    path.write_bytes(path.read_bytes()[:keep])
    kind = "a Parquet" if path.suffix == ".parquet" else "an Arrow"
    with pytest.raises(InputError) as caught:
        read(path, ["a", "b"])
    assert str(caught.value) == f"{path}: is not {kind} file, or damaged or cut short; write it again"


def test_damage_inside_never_crashes(path: Path) -> None:
    put(path, pa.table({"a": ["some", "texts", None] * 300, "b": pa.array(["p", "q"] * 450).dictionary_encode()}))
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for _ in range(150):
        data = bytearray(whole)
        for place in generator.integers(0, len(data), 3):
            data[place] ^= int(generator.integers(1, 256))
        path.write_bytes(data)
        with contextlib.suppress(InputError):
            values(read(path, ["a", "b"]), "a")


def published(count: int = 4) -> pa.RecordBatch:
    spans = intervals((15, 20), None, (0, 5), (15, 20)).take(pa.array([i % 4 for i in range(count)], pa.int64()))
    labels = pa.array((["Gov", None, "*", "Gov"] * count)[:count], pa.string()).dictionary_encode()
    return pa.RecordBatch.from_arrays([spans, labels], names=["age", "work"])


def test_a_published_batch_keeps_its_types(path: Path) -> None:
    write(path, published(), published())
    table = got(path)
    assert table["age"].type == interval(pa.int64())
    assert table["age"].to_pylist() == published().column("age").to_pylist() * 2
    assert table["work"].to_pylist() == ["Gov", None, "*", "Gov"] * 2
    assert pa.types.is_dictionary(table["work"].type)


def test_text_that_comes_again_goes_from_parquet_to_parquet_as_codes(tmp_path: Path) -> None:
    texts = {"few": ["yes", "no", None, "no"] * 500, "many": [f"person {number}" for number in range(2000)]}
    source = put(tmp_path / "in.parquet", pa.table(texts))
    (block,) = read(source, [*texts], passed=[*texts], target="out.parquet")
    assert [pa.types.is_dictionary(kind) for kind in block.batch.schema.types] == [True, False]
    target = write(tmp_path / "out.parquet", block.batch, block.batch)
    assert got(target).schema.types == [pa.string()] * 2
    assert got(target).to_pydict() == {name: column * 2 for name, column in texts.items()}
    assert pq.read_metadata(target).row_group(0).column(0).statistics.max == "yes"
    for other in ("out.arrow", "out.csv", None):
        (block,) = read(source, [*texts], passed=[*texts], target=other)
        assert block.batch.schema.types == [pa.string()] * 2


def test_coded_structs_become_plain(path: Path) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0], pa.int32()), pa.array([{"lo": 1, "hi": 2}, None]))
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3], pa.int32()), pa.array(["a", "a", None, "b"]))
    write(path, pa.RecordBatch.from_arrays([coded, labels], names=["age", "work"]))
    assert got(path)["age"].to_pylist() == [{"lo": 1, "hi": 2}, None, None, {"lo": 1, "hi": 2}]
    assert got(path)["work"].to_pylist() == ["a", "a", None, "b"]


def test_dictionaries_may_differ_from_batch_to_batch(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "GROUP", 4)
    labels = [["a", "b"], ["b", "c"], ["d", None], ["a", "d"], ["e", "b"]]
    write(path, *(pa.record_batch({"w": pa.array(pair * 2).dictionary_encode()}) for pair in labels))
    assert got(path)["w"].to_pylist() == [label for pair in labels for label in pair * 2]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, None, -5], pa.int64()),
        ([1, 2.5, None], pa.float64()),
        ([True, None, False], pa.bool_()),
        (["x", None, 'é"\n'], pa.string()),
        ([None, None, None], pa.string()),
    ],
)
def test_json_text_is_typed_again(path: Path, cells: list[Any], kind: pa.DataType) -> None:
    write(path, json_batch(kept=cells))
    assert got(path)["kept"].type == kind
    assert got(path)["kept"].to_pylist() == cells


@pytest.mark.parametrize("cells", [[1, "x", None], [[1], {"a": 2}], [10**20, 1]])
def test_json_text_of_no_one_type_stays_text(path: Path, cells: list[Any]) -> None:
    batch = json_batch(kept=cells)
    write(path, batch, json_batch(kept=[1, 2]))
    assert got(path)["kept"].to_pylist() == [*batch.column("kept").to_pylist(), "1", "2"]


def test_the_type_is_found_in_many_batches_not_the_first(path: Path) -> None:
    write(path, json_batch(kept=[]), json_batch(kept=[None]), json_batch(kept=[1]), json_batch(kept=[2.5]))
    assert got(path)["kept"].to_pylist() == [None, 1.0, 2.5]


@pytest.mark.parametrize(("first", "then"), [([1], [1.5]), ([1], ["x"]), (["x"], [1]), ([True], [1]), ([1.5], [2**60])])
def test_a_type_that_changes_later_is_refused(
    path: Path, first: list[Any], then: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "GROUP", 1)
    with pytest.raises(InputError, match=r"'kept' began as \w+ and went on as another type; write to a \.jsonl file"):
        write(path, json_batch(kept=first), json_batch(kept=then))
    assert list(path.parent.iterdir()) == []


def test_whole_numbers_fit_among_others_later(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "GROUP", 1)
    write(path, json_batch(kept=[1.5]), json_batch(kept=[2]), json_batch(kept=[None]))
    assert got(path)["kept"].to_pylist() == [1.5, 2.0, None]


def test_an_empty_batch_leaves_a_valid_empty_file(path: Path) -> None:
    write(path, published(0))
    assert got(path).num_rows == 0
    assert got(path).schema.names == ["age", "work"]


def test_small_batches_share_a_row_group(tmp_path: Path) -> None:
    path = write(tmp_path / "out.parquet", *[published(100)] * 50)
    assert pq.ParquetFile(path).metadata.num_row_groups == 1
    assert pq.read_table(path).num_rows == 5000


def as_read(path: Path, schema: pa.Schema) -> pa.Schema:
    """The schema of a file: Parquet has texts in place of labels inside structs."""
    if path.suffix == ".arrow":
        return schema
    kind = pa.struct([pa.field("value", pa.string(), nullable=False), pa.field("or_missing", pa.bool_(), nullable=False)])
    return schema.set(schema.get_field_index("city"), pa.field("city", kind))


def test_values_in_doubt_come_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "GROUP", 1)
    parts = [
        {"age": blurred_intervals(int, (1, 2, True), None), "city": blurred_labels(("Oslo", False), ("Rome", True))},
        {"age": blurred_intervals(int, (1, 2, False), (3, 4, True)), "city": blurred_labels(None, None)},
        {"age": blurred_intervals(int, None, None), "city": blurred_labels(("Lyon", True), ("Oslo", True))},
    ]
    batches = [pa.record_batch(part) for part in parts]
    found = got(write(path, *batches))
    assert found.schema == as_read(path, batches[0].schema)
    assert found.to_pylist() == [row for batch in batches for row in batch.to_pylist()]


def test_values_in_doubt_share_a_table(path: Path) -> None:
    whole, half = blurred_intervals(int, (1, 2, True), None), blurred_intervals(float, (0.5, 1, True), None)
    batches = [
        pa.record_batch({"age": age, "city": blurred_labels((city, True), None)})
        for age, city in ((whole, "Oslo"), (half, "Rome"))
    ]
    found = got(write(path, *batches))
    assert found.schema == as_read(path, batches[1].schema)
    assert found.to_pylist() == [row for batch in batches for row in batch.to_pylist()]


def cities() -> list[tuple[str, bool] | None]:
    names = [*((name, doubt) for name in ("Oslo", "Rome", "Lyon", "World") for doubt in (True, False)), None]
    return random.Random(1).choices(names, k=3 * tables.GROUP)


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with labels inside structs, in three row groups."""
    size, rows = tables.GROUP, cities()
    parts = [pa.record_batch({"city": blurred_labels(*rows[start : start + size])}) for start in range(0, len(rows), size)]
    path = write(tmp_path_factory.mktemp("labels") / "out.parquet", *parts)
    assert pq.read_metadata(path).num_row_groups == 3
    return path


@pytest.mark.parametrize("reader", ["arrow", "arrow as a whole", "pandas", "polars", "duckdb", "shoal"])
def test_labels_inside_structs_are_read_by_all(labels: Path, reader: str) -> None:
    if reader == "arrow":
        found = pq.read_table(labels)["city"].to_pylist()
    elif reader == "arrow as a whole":  # which refuses a dictionary there
        found = pq.ParquetFile(labels).read()["city"].to_pylist()
    elif reader == "pandas":
        found = pytest.importorskip("pandas").read_parquet(labels)["city"].tolist()
    elif reader == "polars":
        found = pytest.importorskip("polars").read_parquet(labels)["city"].to_list()
    elif reader == "duckdb":
        found = [row for (row,) in pytest.importorskip("duckdb").read_parquet(str(labels)).fetchall()]
    else:
        found = values(read(labels, ["city"], passed=["city"], rows=2 * tables.GROUP), "city")
    assert found == [row and {"value": row[0], "or_missing": row[1]} for row in cities()]


def test_sets_are_read_as_a_whole(tmp_path: Path) -> None:
    """pyarrow refuses a dictionary inside a list, too, if there are several row groups."""
    sets = [["Oslo"], ["Oslo", "Rome", None], None] * tables.GROUP
    path = write(tmp_path / "out.parquet", *pa.table({"city": pa.array(sets, SET)}).to_batches(max_chunksize=tables.GROUP))
    file = pq.ParquetFile(path)
    assert file.metadata.num_row_groups == 3
    assert file.schema_arrow.field("city").type == pa.list_(pa.string())
    assert file.read()["city"].to_pylist() == sets


@pytest.mark.parametrize("rows", [7, 64, 1000])
def test_structs_and_lists_may_hold_dictionaries(path: Path, rows: int) -> None:
    coded = pa.array([None if i % 5 == 0 else f"v{i % 7}" for i in range(300)]).dictionary_encode()
    structs = pa.StructArray.from_arrays(
        [coded, pa.array(range(300))], ["x", "y"], mask=pa.array([i % 4 == 0 for i in range(300)])
    )
    lists = pa.ListArray.from_arrays(pa.array(range(301)), coded)
    table = pa.table({"s": structs, "l": lists})
    put(path, table, **({"row_group_size": 90} if path.suffix == ".parquet" else {}))
    blocks = read(path, ["l", "s"], passed=["l", "s"], rows=rows)
    assert numbers(blocks) == list(range(300))
    assert values(blocks, "s") == table["s"].to_pylist() and values(blocks, "l") == table["l"].to_pylist()
