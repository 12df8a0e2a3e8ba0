"""Runs every kernel with all kinds of arguments that it meets: algorithms, windows, readings, lanes, snapshots, formats."""

from __future__ import annotations

import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal import Anonymizer, Policy, check, run
from shoal.algorithms import Plain, Waiting
from shoal.formats.avro import Decoder
from shoal.policy import FILTER, WINDOWED

_SUFFIXES = (".jsonl", ".csv", ".parquet", ".arrow")
_WINDOWS: tuple[dict[str, Any], ...] = ({"count": 40}, {"time": 40}, {"buffer": 40})
_SECRET = bytes(16)
_SETS = {
    "age": {"quasi": "numeric", "range": [0, 100]},
    "city": {"quasi": "categorical", "values": ["a", "b", "c"]},
    "illness": {"sensitive": True},
}


def exercise() -> None:
    """Run everything on small streams."""
    for name in WINDOWED:
        for window in _WINDOWS:
            _stream(_windowed(name, window))
        _stream(_windowed(name, {"count": 40}, lanes=2))
        _stream(_windowed(name, {"count": 40}, attributes=_SETS))
        _stream(_windowed(name, {"time": 40}, lanes=3, privacy={"k": 3, "l": 2, "t": 0.9}))
        for match in ("maybe", "extended", "root"):
            _stream(_windowed(name, {"count": 40}, privacy={"k": 3, "l": {"entropy": 1.5}, "nulls_match": match}))
    _plain()
    _stream(_windowed("fast", {"count": 40}, algorithm={"name": "fast", "workers": 2}))
    for item in (7, "seven"):
        for z in (2, {"auto": {"k": 2, "probability": 0.9}}):
            _observations(item, z)
    _popular(2, window=10_000_000, number=2_400_000)  # more than there is room for at first
    _popular({"auto": {"k": 2, "probability": 0.9}}, window=25_000, number=140_000)  # z grows
    _avro()
    with TemporaryDirectory() as folder:
        _files(Path(folder))


def _plain() -> None:
    """The kernels that algorithms in plain Python share, under an algorithm without a memory and parameters of its own."""

    def choose(waiting: Waiting) -> list[int]:
        waiting.loss(range(len(waiting)))
        return waiting.first_of_each([waiting.due, *np.argsort(waiting.distances(waiting.due))])[: waiting.k]

    for window in _WINDOWS:
        one: Any = Anonymizer(_windowed("fads", window))
        one._engine._lane.kernel = Plain(choose)
        one.push_batch(pa.RecordBatch.from_pylist(records(100)))
        one.flush()


def records(number: int) -> list[dict[str, Any]]:
    """Records with numbers, labels, sensitive values and text, some of them missing."""
    draw = random.Random(1)

    def maybe(value: Any) -> Any:
        return value if draw.random() < 0.8 else None

    return [
        {
            "pid": f"p{draw.randrange(number)}", "t": float(i), "age": maybe(draw.randrange(100)),
            "height": maybe(draw.random() * 2), "city": maybe(draw.choice("abc")), "illness": maybe(draw.choice("xyz")),
            "note": maybe(f"note {i}"), "many": draw.randrange(3),
        }
        for i in range(number)
    ]  # fmt: skip


def _windowed(name: str, window: dict[str, Any], **more: Any) -> Policy:
    policy: dict[str, Any] = {
        "person": "pid",
        "attributes": {
            "age": {"quasi": "numeric", "range": [0, 100], "grid": 5},
            "height": {"quasi": "numeric", "range": [0, 2]},
            "city": {"quasi": "categorical", "hierarchy": {"any": ["a", "b", "c"]}},
            "illness": {"sensitive": True},
            "note": {"publish": "keep"},
        },
        "privacy": {"k": 3},
        "window": window,
        "algorithm": {"name": name, **({"reuse_age": 40} if name == "fast" and "time" in window else {})},
    }
    timed = {"time": {"field": "t"}} if "time" in window else {}
    return Policy.parse({**policy, **timed, **more})


def _stream(policy: Policy) -> None:
    """One by one, in batches, from a snapshot, with ticks, to the end."""
    given = records(300)
    one = Anonymizer(policy)
    for record in given[:60]:
        one.push(record)
    one.push_batch(pa.RecordBatch.from_pylist(given[60:250]))
    if policy.repeatable:
        other = Anonymizer(policy)
        other.restore(one.snapshot())
        one = other
    one.relearn()
    if policy.window.kind == "time":
        one.tick(270.0)
    one.push_batch(pa.RecordBatch.from_pylist(given[250:]))
    one.flush()
    assert one.trace.num_rows


def _observations(item: Any, z: Any) -> None:
    kind = "any" if z == 2 and isinstance(item, str) else None
    policy = Policy.parse({
        "person": "pid", "time": {"field": "t"},
        "item": {"field": "site", **({"hierarchy": {kind: ["seven0", "seven1"]}} if kind else {})},
        "algorithm": {"name": FILTER, "z": z, "window": 500},
    })  # fmt: skip
    one = Anonymizer(policy, secret=_SECRET)
    names = [
        f"{item}{i % 2}" if kind else (item + i % 2000 if isinstance(item, int) else f"{item}{i % 2000}")
        for i in range(140_000)
    ]
    people = [i % 977 if isinstance(item, int) else f"p{i % 977}" for i in range(len(names))]
    batch = pa.RecordBatch.from_pydict({"pid": people, "t": [i / 50 for i in range(len(names))], "site": names})
    for start in range(0, len(names), 35_000):
        one.push_batch(batch.slice(start, 35_000))
    one.user_counts()
    other = Anonymizer(policy, secret=_SECRET)
    other.restore(one.snapshot())
    other.push({"pid": people[0], "t": 2_900, "site": names[0]})


def _popular(z: Any, window: int, number: int) -> None:
    """Some items that many have, and many that few have."""
    policy = Policy.parse({
        "person": "pid", "time": {"field": "t"}, "item": {"field": "site"},
        "algorithm": {"name": FILTER, "z": z, "window": window},
    })  # fmt: skip
    draw = np.random.default_rng(1)
    people, sites = draw.integers(0, number // 100, number), (2_000 * draw.random(number) ** 4).astype(int)
    Anonymizer(policy, secret=_SECRET).push_batch(
        pa.RecordBatch.from_pydict({"pid": people, "t": np.arange(number), "site": sites})
    )


def _avro() -> None:
    """A number and a text, as single records and as a block of a file."""
    fields = [{"name": "age", "type": ["null", "int"]}, {"name": "city", "type": ["null", "string"]}]
    decoder = Decoder({"type": "record", "name": "r", "fields": fields}, ["age", "city"])
    records = [bytes([2, 8, 2, 4]) + b"ab", bytes([0, 0])]
    assert decoder.columns(records)[0][1].to_pylist() == ["ab", None]
    decoder.block(memoryview(b"".join(records)), len(records))


def _files(folder: Path) -> None:
    """Every format, as input and as output; lines of one shape and others; wrong records."""
    policy, given = _windowed("fads", {"count": 40}), records(400)
    (folder / "in.jsonl").write_text("".join(json.dumps(each) + "\n" for each in given))
    odd = [{name: value for name, value in each.items() if value is not None} for each in given]
    (folder / "odd.jsonl").write_text("".join(json.dumps(each) + "\n" for each in odd))
    table = pa.Table.from_pylist(given)
    pq.write_table(table, folder / "in.parquet")
    with pa.ipc.new_file(folder / "in.arrow", table.schema) as out:
        out.write_table(table)
    names = list(given[0])

    def line(values: Any) -> str:
        return ",".join("" if value is None else str(value) for value in values) + "\n"

    (folder / "in.csv").write_text(line(names) + "".join(line(each.values()) for each in given))
    quoted = "".join(line([*list(each.values())[:-1], f'"{each["many"]}, ""quoted"""']) for each in given)
    wrong = line([*list({**given[0], "age": "old"}.values())[:-1], '"1"'])
    (folder / "quoted.csv").write_text(line(names) + quoted + wrong)
    for match in ("maybe", "blurred"):
        policy = _windowed("fads", {"count": 40}, privacy={"k": 3, "nulls_match": match})
        for source in ("in.jsonl", "odd.jsonl", "in.parquet", "in.arrow", "in.csv", "quoted.csv"):
            for suffix in _SUFFIXES if source == "in.jsonl" else (".jsonl",):
                run(policy, folder / source, folder / f"out{suffix}", trace=folder / "trace.jsonl", on_reject=str)
                check(policy, folder / source)
    for match in ("maybe", "blurred"):
        policy = _windowed("fads", {"count": 40}, privacy={"k": 3, "nulls_match": match}, attributes=_SETS)
        for suffix in _SUFFIXES:
            run(policy, folder / "in.jsonl", folder / f"out{suffix}")
    many = pa.concat_tables([table] * 100)
    pq.write_table(many, folder / "many.parquet")
    run(policy, folder / "many.parquet", folder / "out.jsonl")


if __name__ == "__main__":
    exercise()
