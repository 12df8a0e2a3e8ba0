"""A pipeline into a table, as a user writes it: a relative folder, every kind of published value, a second start."""

from __future__ import annotations

import json
from pathlib import Path

import deltalake
import duckdb
import pyarrow as pa
import pyarrow.parquet
import pytest

from shoal.audit import audit
from shoal.errors import ConnectorError, PolicyError
from shoal.pipeline import Pipe, PipelineFile, readiness
from tests.docs.base import blocks, read

POLICY = """
person: pid
attributes:
  age: {quasi: numeric, range: [0, 100], grid: 5}
  home: {quasi: categorical, hierarchy: {World: {North: [Oslo, Bergen], South: [Rome, Naples]}}}
  city: {quasi: categorical, generalize: set, hierarchy: {World: {North: [Oslo, Bergen], South: [Rome, Naples]}}}
  ill: {sensitive: true, stable: true, as: block, blocks: [[flu, cold], [asthma, none]]}
  note: {publish: keep}
privacy: {k: 3}
window: {count: 10}
algorithm: {name: fads}
"""
PIPELINE = """
policy: policy.yaml
source: {{file: {{path: raw.jsonl}}}}
sink: {{{name}: {{path: clean}}}}
state: {{dir: state, key: {{env: SHOAL_KEY}}}}
"""
CITIES = ("Oslo", "Bergen", "Rome", "Naples")


def record(i: int) -> str:
    city, ill = CITIES[i % 4], ("flu", "asthma")[i % 2]
    return json.dumps({"pid": i, "age": i % 90, "home": city, "city": city, "ill": ill, "note": i}) + "\n"


@pytest.mark.parametrize("name", ["parquet", "delta"])
def test_it_starts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("SHOAL_KEY", "k" * 40)
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)
    Path("pipeline.yaml").write_text(PIPELINE.format(name=name))
    for turn in range(2):
        with open("raw.jsonl", "a") as raw:
            raw.writelines(record(i) for i in range(50 * turn, 50 * turn + 50))
        Pipe(PipelineFile.load("pipeline.yaml")).run()
    if name == "delta":
        table = pa.table(deltalake.DeltaTable("clean").to_pyarrow_table())
    else:
        table = pa.concat_tables([pyarrow.parquet.read_table(file) for file in Path("clean").glob("*.parquet")])
    assert table.num_rows == 100
    assert {label for labels in table["city"].to_pylist() for label in labels or ()} <= {"North", "South", "World", *CITIES}
    assert {tuple(block) for block in table["ill"].to_pylist() if block} == {("flu", "cold"), ("asthma", "none")}


TIMED = POLICY.replace("person: pid", "person: pid\ntime: {field: t, publish: generalize, grid: 1m}").replace(
    "{count: 10}", "{time: 25s}"
)


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("roll: {every: 60s}", "with a window of 25 s, readers see a tuple at most 85 s after it arrived, and a commit"),
        ("number: age", "parquet: folder '{path}': number: 'age' is a published field; name another column"),
        ("partition: {by: pid}", "parquet: folder '{path}': partition.by: 'pid' is not published; choose among t, ill, note"),
        (
            "partition: {by: age}",
            "parquet: folder '{path}': partition.by: 'age' is generalized; choose among t, ill, note",
        ),
    ],
)  # fmt: skip
def test_check_says_what_readers_get_and_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, found: str
) -> None:
    monkeypatch.setenv("SHOAL_KEY", "k" * 40)
    (tmp_path / "policy.yaml").write_text(TIMED)
    (tmp_path / "raw.jsonl").write_text(record(1))
    text = PIPELINE.format(name="parquet").replace("{path: clean}", f"{{path: clean, {settings}}}")
    try:
        *_, last = readiness(PipelineFile.parse(text, tmp_path))
    except ConnectorError as error:
        last = str(error)
    assert last == found.format(path=tmp_path / "clean")


def test_an_iceberg_table_needs_a_namespace(tmp_path: Path) -> None:
    text = PIPELINE.format(name="iceberg").replace("path: clean", "table: people, catalog: {type: sql}")
    with pytest.raises(PolicyError) as error:
        PipelineFile.parse(text, tmp_path)
    assert str(error.value).endswith("sink.iceberg.table: has no namespace; write it like clean.people")


@pytest.mark.parametrize(
    ("publish", "form", "given", "found"),
    [
        ("generalize", None, "2026-03-01T{i:02}:10:00+01:00", "2026-02-28T23"),
        ("{keep: true, because: a test}", None, "2026-03-01T{i:02}:10:00Z", "2026-03-01T00"),
        ("{keep: true, because: a test}", "ms", "{i}00000", "1970-01-01T00"),
        ("{keep: true, because: a test}", "dd.mm.yyyy hh:mm", "01.03.2026 {i:02}:10", "2026-03-01T00"),
    ],
)
def test_partitions_of_times_however_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, publish: str, form: str | None, given: str, found: str
) -> None:
    monkeypatch.setenv("SHOAL_KEY", "k" * 40)
    monkeypatch.chdir(tmp_path)
    time = f"time: {{field: t, publish: {publish}}}\n" + (f"input: {{times: {{t: {form}}}}}\n" if form else "")
    Path("policy.yaml").write_text(POLICY.replace("attributes:", f"{time}attributes:").replace("{count: 10}", "{time: 25s}"))
    Path("pipeline.yaml").write_text(
        PIPELINE.format(name="parquet").replace("path: clean", "path: clean, partition: {by: t, every: hour}")
    )
    rows = [{**json.loads(record(i)), "t": given.format(i=i // 3)} for i in range(30)]
    numbers = [{**row, "t": int(row["t"])} for row in rows] if form == "ms" else rows
    Path("raw.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in numbers))
    Pipe(PipelineFile.load("pipeline.yaml")).run()
    assert min(folder.name for folder in Path("clean").glob("hour=[0-9]*")) == f"hour={found}"


def test_a_table_is_audited_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_KEY", "k" * 40)
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(TIMED.replace("25s", "1h"))
    settings = "path: clean, number: n, roll: {rows: 20}, partition: {by: t, every: hour}"
    Path("pipeline.yaml").write_text(
        PIPELINE.format(name="parquet").replace("path: clean", settings) + "trace: private.jsonl\n"
    )
    records = ({**json.loads(record(i)), "t": 240 * i} for i in range(100))
    Path("raw.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in records))
    Pipe(PipelineFile.load("pipeline.yaml")).run()
    assert len(list(Path("clean").glob("hour=*"))) > 3
    (copy,) = [block.text for block in blocks(read("docs/connectors.md")) if block.language == "sql"]
    duckdb.sql(copy)
    report = audit("policy.yaml", "raw.jsonl", "clean.parquet", trace="private.jsonl")
    assert report.held, report.to_dict()
