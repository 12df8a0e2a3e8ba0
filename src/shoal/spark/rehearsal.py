"""The steps of a query on a few made-up records, without Spark: so a worker has loaded all kernels before its first task."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.anonymizer import Filter, Windowed, learned_tree
from shoal.columns import Encoder
from shoal.policy import FILTER, Policy, all_windowed, needs_reuse_age
from shoal.spark.job import Job
from shoal.spark.lane import ROW, lane
from shoal.spark.message import Message, from_batch, to_batch
from shoal.spark.routing import Routing, keys
from shoal.spark.steps import BatchStep, DecodeStep, EncodeStep, plain

ALL = "all"
_SECRET = "0" * 32
_LANES = 2
_ATTRIBUTES = {
    "age": {"quasi": "numeric", "range": [0, 100], "grid": 5},
    "height": {"quasi": "numeric", "range": [0, 2]},
    "pulse": {"quasi": "numeric", "range": [0, 200], "grid": 1},
    "city": {"quasi": "categorical", "hierarchy": {"any": ["a", "b", "c"]}},
    "ill": {"sensitive": True},
    "note": {"publish": "keep"},
}
_WINDOWS: tuple[dict[str, Any], ...] = ({"time": 8}, {"count": 8})


def rehearse(names: str) -> None:
    """Rehearse the algorithms of a list with commas, or all of them; other names are skipped."""
    asked = (FILTER, *all_windowed()) if names.strip() == ALL else [name.strip() for name in names.split(",")]
    for name in asked:
        if name == FILTER:
            item = {"item": {"field": "city"}, "algorithm": {"name": name, "z": 2, "window": 8}}
            _run(Policy.parse({"person": "pid", "time": {"field": "t"}, **item}))
        elif name in all_windowed():
            for window in _WINDOWS:
                for lanes in (1, _LANES):
                    _run(_windowed(name, window, lanes))


def job_of(policy: Policy, records: pa.RecordBatch) -> Job:
    """A job whose split tree is learned from these records."""
    pseudonyms = bytes(16) if policy.is_filter else None
    engine = Filter(policy, pseudonyms) if pseudonyms else Windowed(replace(policy, lanes=1))
    published = engine.arrive(records.slice(0, 0), np.zeros(0, np.int64)).published.schema
    tree, whole = None, ()
    if not policy.is_filter:
        encoded = Encoder(policy, np.zeros(2, np.uint64)).encode(records, np.arange(len(records)))
        tree = learned_tree(policy, encoded.values) if policy.lanes > 1 else None
        whole = tuple(encoded.whole.tolist())
    lanes = _LANES if policy.is_filter else policy.lanes
    return Job(
        policy=policy, routing=Routing(tree, keys(lanes, lanes)), whole=whole, secret=_SECRET, pseudonyms=pseudonyms,
        published=pa.schema([pa.field(field.name, plain(field.type)) for field in published]),
    )  # fmt: skip


def _windowed(name: str, window: dict[str, Any], lanes: int) -> Policy:
    own = {"name": name, **({"reuse_age": 8} if needs_reuse_age(name) and "time" in window else {})}
    given = {"person": "pid", "time": {"field": "t"}, "attributes": _ATTRIBUTES, "privacy": {"k": 2}, "algorithm": own}
    return replace(Policy.parse({**given, "window": window}), lanes=lanes)


def _run(policy: Policy) -> None:
    records = list(_records())
    job = job_of(policy, records[0].drop_columns([ROW]))
    state: dict[int, bytes] = {}
    for batch in records:
        answers = _step(job, state, _messages(EncodeStep(job)([batch])))
        if not policy.is_filter and job.lanes > 1:
            answers = _step(job, state, answers)
        list(DecodeStep(job)([to_batch(answers)]))
    *own, common = job.routing.keys
    sent = sorted(_messages(EncodeStep(job)(records)), key=lambda message: (message.key, message.seq))
    left = list(BatchStep(job, tuple(own))([to_batch(sent)]))
    if not policy.is_filter and job.lanes > 1:
        list(BatchStep(job, (common,))(left))


def _step(job: Job, state: dict[int, bytes], messages: list[Message]) -> list[Message]:
    """Each lane goes on from its sealed state with its messages; what is published passes."""
    answers = [message for message in messages if message.published]
    for key in {message.key for message in messages}:
        mine = [message for message in messages if message.key == key and not message.published]
        if not mine:
            continue
        here = lane(job, key)
        if key in state:
            here.restore(job.opened(state[key])[1])
        answers += here.take_in(mine, in_order=False)
        if here.next is not None:
            answers += here.tick(here.next)
        state[key] = job.sealed({}, here.snapshot())
    return answers


def _messages(batches: Iterator[pa.RecordBatch]) -> list[Message]:
    return [message for batch in batches for message in from_batch(batch)]


def _records() -> Iterator[pa.RecordBatch]:
    for start in range(0, 40, 20):
        at = range(start, start + 20)
        yield pa.record_batch({
            "pid": [f"p{i}" for i in at], "t": [float(i) for i in at], "age": [None if i % 7 == 0 else i for i in at],
            "height": [i / 20 if i % 5 else None for i in at], "pulse": [float(i) for i in at],
            "city": ["abc"[i % 3] for i in at], "ill": ["xyz"[i % 3] for i in at], "note": [f"note {i}" for i in at],
            ROW: list(at),
        })  # fmt: skip
