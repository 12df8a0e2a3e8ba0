"""A streaming query without Spark: its steps, and a state in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal import Policy
from shoal.anonymizer import TRACE, TRACE_TYPE
from shoal.spark.lane import LAST, ROW
from shoal.spark.message import Message, from_batch, from_pandas, to_batch
from shoal.spark.rehearsal import job_of
from shoal.spark.steps import BudgetStep, DecodeStep, EncodeStep, StreamStep


class State:
    """The state of one key."""

    value: tuple[Any, ...] | None = None

    def getValueState(self, name: str, schema: str) -> State:
        return self

    def exists(self) -> bool:
        return self.value is not None

    def get(self) -> tuple[Any, ...]:
        assert self.value is not None
        return self.value

    def update(self, value: tuple[Any, ...]) -> None:
        self.value = value


class Query:
    """The lanes of a query, batch by batch; `sample` is what the split tree is learned from."""

    def __init__(self, policy: Policy, lanes: int, sample: pa.RecordBatch, traced: bool = False, **job: Any) -> None:
        found = job_of(replace(policy, lanes=lanes), sample)
        published = found.published.append(pa.field(TRACE, TRACE_TYPE)) if traced else found.published
        self.job = replace(found, published=published, traced=traced, **job)
        self._states: dict[tuple[int, int], State] = {}
        self.late = 0

    def batch(self, records: pa.RecordBatch | None, at: int, last: bool = False) -> list[dict[str, Any]]:
        """What leaves in a batch with these records, or none; `last` says that the input has ended."""
        job, *_ = self.job, None
        *own, common = job.routing.keys
        messages: list[Message] = []
        if records is not None:
            numbered = records.append_column(ROW, pa.array(_digests(records)))
            messages += self._within_budget(list(_messages(EncodeStep(job)([numbered]))))
        if last or records is None:
            none = job.counts(np.zeros(job.lanes, np.int64))
            messages += [Message(key, LAST if last else -1, counts=none) for key in own]
        messages = [message._replace(at=at) for message in messages]
        left = self._step(tuple(own), messages)
        self.late += sum(message.rejected for message in left)
        if job.lanes > 1:
            left = self._step((common,), left)
        return [row for found in DecodeStep(job)([to_batch(left)]) for row in found.to_pylist()]

    def _within_budget(self, messages: list[Message]) -> list[Message]:
        return self._run(lambda: BudgetStep(self.job), 0, messages) if self.job.policy.releases else messages

    def _step(self, keys: tuple[int, ...], messages: list[Message]) -> list[Message]:
        return self._run(lambda: StreamStep(self.job, keys), len(keys), messages)

    def _run(self, new: Callable[[], Any], number: int, messages: list[Message]) -> list[Message]:
        found: list[Message] = []
        for key in sorted({message.key for message in messages}):
            step = new()
            step.init(self._states.setdefault((number, key), State()))
            frames = [to_batch([message for message in messages if message.key == key]).to_pandas()]
            for frame in step.handleInputRows((key,), iter(frames), None):
                found += from_pandas(frame)
        return found


def _messages(batches: Iterable[pa.RecordBatch]) -> Iterator[Message]:
    return (message for batch in batches for message in from_batch(batch))


def _digests(records: pa.RecordBatch) -> list[int]:
    return [hash(tuple(row.values())) for row in records.to_pylist()]
