"""A DataFrame goes in, the anonymized DataFrame comes out."""

from __future__ import annotations

import itertools
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData, Observation
from pyspark.sql import functions as F
from pyspark.sql.streaming import StatefulProcessor

from shoal.anonymizer import TRACE, TRACE_TYPE, Filter, SplitTree, Windowed, learned_tree, sample_size, secret
from shoal.columns import Encoder
from shoal.errors import InputError, PolicyError, StateError
from shoal.pipeline import FileCipher
from shoal.policy import Policy, Tuned, Zanon
from shoal.spark.clock import Reports, at_batch_time, observed, ticks
from shoal.spark.configure import PARTITIONS, PROVIDER, ROCKSDB
from shoal.spark.drain import Drain
from shoal.spark.given import given_policy, named, named_columns, with_dots
from shoal.spark.job import Job
from shoal.spark.lane import ROW
from shoal.spark.late import allowed_delay, with_watermark
from shoal.spark.message import SCHEMA
from shoal.spark.routing import Routing, keys
from shoal.spark.state_file import load, save
from shoal.spark.steps import BatchBudgetStep, BatchStep, BudgetStep, DecodeStep, EncodeStep, StreamStep, plain
from shoal.spark.types import arrow_schema, column_at, digest, published_types

VARIABLE = "SHOAL_KEY"
_numbers = itertools.count(1)


def anonymize(
    df: DataFrame, policy: Policy | Mapping[str, Any] | str | PathLike[str], lanes: int = 8, *,
    sample: DataFrame | None = None, split_tree: str | None = None, key: str | None = None,
    strict: bool = False, max_rejected: float = 1.0, observation: Observation | str | None = None,
    drain: Drain | None = None, late: float | str | None = None, trace: bool = False,
) -> DataFrame:  # fmt: skip
    """Anonymize a DataFrame of Spark by a policy; streaming or not, from any source to any sink.

    Parameters
    ----------
    df
        The records. Rows of a streaming query come out when they leave, in append mode.
    policy
        A policy, its YAML text, or the mapping or the path of one.
    lanes
        How many windows run in parallel, one task each. Similar tuples share a window; under z-anonymity, equal items do.
    sample
        For a streaming query with several lanes: a batch DataFrame with the same columns and some thousand rows. From it the
        split tree is learned, which decides which tuples share a lane. It is read once, if no split tree was saved yet.
    split_tree
        For a streaming query with several lanes: a folder, such as one beside the checkpoint, in which the split tree is saved.
    key
        For a streaming query: the secret that encrypts its state, at least 32 bytes; by default the value of SHOAL_KEY.
    strict
        Whether the query fails at the first rejected record.
    max_rejected
        The largest share of rejected records, from 0 to 1: of a batch DataFrame, or of each micro-batch. Beyond it the query
        fails, and a streaming query has published nothing of that micro-batch. A batch DataFrame of which every record is
        rejected fails in any case.
    observation
        What counts the received and the rejected records: an `Observation` of Spark for a batch DataFrame, or the name that
        the counts have in `observedMetrics`. By default shoal-1, shoal-2 and so on.
    drain
        A `Drain`: it tells a streaming query that its input has ended, so that everything leaves. Not for z-anonymity, which
        holds no tuple back.
    late
        For a streaming query with a `time` window: how far the time of a record may be behind the newest time of the batches
        before, such as 10s; other records are rejected. By default none is. The result has a watermark then, if the time is
        published as it is and is a timestamp: it counts in how long a tuple may wait.
    trace
        Whether the result has a column `shoal_trace`, which tells how each tuple left. It is private: it links the rows to
        the records. Under `suppressed: drop` what is suppressed has a row too, of nulls. See `evidence`.

    Raises
    ------
    PolicyError, InputError, StateError
        The policy, the DataFrame, or the saved state of the query cannot be used.
    """
    policy, lanes = _with_lanes(given_policy(policy), lanes)
    if not 0 <= max_rejected <= 1:
        raise InputError("max_rejected: is not a share; give a number from 0 to 1, such as 0.05")
    records = _records(df, policy)
    if df.isStreaming and isinstance(observation, Observation):
        raise InputError("observation: Spark has no Observation of a streaming query; give a name, and read observedMetrics")
    allowed = None if late is None else allowed_delay(late, df, policy)
    if drain and policy.is_filter:
        raise InputError("drain: z-anonymity holds no tuple back; leave it out, and use trigger(availableNow=True)")
    if trace and policy.is_filter:
        raise InputError("trace: is not supported for z-anonymity, whose output shoal audit judges without one; leave it out")
    if trace and lanes > 1 and policy.window is not None and policy.window.kind == "buffer":
        raise InputError("trace: under window.buffer no lane counts the arrivals of the others; use lanes=1")
    schema = arrow_schema(df.sparkSession, df.select(*(F.col(f"`{name}`") for name in named(df, policy))).schema)
    job = _job(records, schema, policy, lanes, sample, split_tree, key)
    published = job.published.append(pa.field(TRACE, TRACE_TYPE)) if trace else job.published
    job = replace(job, strict=strict, max_rejected=max_rejected, late=allowed, traced=trace, published=published)
    counted = observation or f"shoal-{next(_numbers)}"
    left = _streaming(records, job, counted, drain or Drain()) if df.isStreaming else _batch(records, job, counted)
    found = left.mapInArrow(DecodeStep(job).__call__, published_types(df, schema, job.published))
    return found if allowed is None else with_watermark(found, policy, allowed)


def _with_lanes(policy: Policy, lanes: int) -> tuple[Policy, int]:
    """The policy with this number of lanes, and the number of lanes that the query can use."""
    if lanes < 1:
        raise PolicyError([f"lanes: {lanes} is below 1; use at least 1"])
    own = policy.algorithm
    if isinstance(own, Zanon):
        is_one = isinstance(own.z, Tuned) or (policy.item and policy.item.hierarchy)
        return policy, 1 if is_one else lanes
    problems = []
    if not policy.repeatable:
        problems.append("algorithm.workers: what several do cannot be repeated, as Spark may have to; use 1")
    if lanes > 1 and policy.stretch > 1:
        problems.append("sparse: a longer window waits for k persons of the whole stream; use suppress, or lanes=1")
    if lanes > 1 and any(demand.t and not demand.distribution for demand in policy.requirements):
        problems.append("privacy.t: compares with the values of the whole stream; give a distribution, or lanes=1")
    for name in policy.bags:
        problems.append(f"attributes.{name}.as: a query has one output, and no place for bags; use block")
    k, room = policy.privacy.k, policy.window.buffer
    if room and room < k * lanes:
        problems.append(f"lanes: leave each lane {room // lanes} tuples of the buffer, below k={k}; use at most {room // k}")
    if problems:
        raise PolicyError(problems)
    return replace(policy, lanes=lanes), lanes


def _records(df: DataFrame, policy: Policy) -> DataFrame:
    """The columns that the policy reads, and a digest of each record."""
    return df.select(*named_columns(df, policy), digest(df, policy))


def _job(
    records: DataFrame,
    schema: pa.Schema,
    policy: Policy,
    lanes: int,
    sample: DataFrame | None,
    folder: str | None,
    given: str | None,
) -> Job:
    streaming = records.isStreaming
    if streaming and records.sparkSession.conf.get(PROVIDER) != ROCKSDB:
        raise InputError(f"{PROVIDER}: lanes keep their state in RocksDB; call configure, or set it to {ROCKSDB}")
    secret_key = given or os.environ.get(VARIABLE) or ("" if streaming else secrets.token_hex(32))
    if not secret_key:
        raise StateError(f"key: there is none, and {VARIABLE} is not set; a streaming query keeps raw records, encrypted")
    FileCipher(secret_key)  # raises an error if the key is too short
    nothing = pa.RecordBatch.from_pylist([], schema)
    pseudonyms = secret(policy.algorithm) if isinstance(policy.algorithm, Zanon) else None
    engine = Filter(policy, pseudonyms) if pseudonyms else Windowed(replace(policy, lanes=1))
    published = engine.arrive(nothing, np.zeros(0, np.int64)).published.schema
    zero = np.zeros(2, np.uint64)
    whole = () if policy.is_filter else tuple(Encoder(policy, zero).encode(nothing, np.zeros(0, np.int64)).whole.tolist())
    partitions = int(records.sparkSession.conf.get(PARTITIONS) or 200) if streaming else lanes + 1
    return Job(
        policy=policy, routing=_routing(records, policy, lanes, partitions, sample, folder, secret_key), whole=whole,
        published=pa.schema([pa.field(field.name, plain(field.type)) for field in published]),
        secret=secret_key, pseudonyms=pseudonyms,
    )  # fmt: skip


def _routing(
    records: DataFrame, policy: Policy, lanes: int, partitions: int, sample: DataFrame | None, folder: str | None, key: str
) -> Routing:
    if lanes == 1 or policy.is_filter:
        return Routing(None, tuple(range(lanes + 1)))
    if not records.isStreaming:
        return Routing(_learned(records, policy), keys(lanes, partitions))
    if folder is None:
        raise InputError("split_tree: name a folder, such as one beside the checkpoint, which a restarted query uses")
    found = load(records.sparkSession, folder, key)
    if found is not None:
        routing = Routing.from_bytes(found)
        if len(routing.keys) != lanes + 1:
            raise StateError(
                f"split_tree: has {len(routing.keys) - 1} lanes, not {lanes}; give that number, or start with another folder"
            )
        return routing
    if sample is None:
        raise InputError("sample: is needed to learn the split tree of a streaming query; give a batch DataFrame")
    tree = _learned(_records(sample, policy), policy)
    if tree is None:
        raise InputError("sample: has no record that the policy accepts, so no split tree can be learned; give some thousand")
    routing = Routing(tree, keys(lanes, partitions))
    save(records.sparkSession, folder, key, routing.to_bytes())
    return routing


def _learned(records: DataFrame, policy: Policy) -> SplitTree | None:
    """The split tree of some records."""
    table = records.drop(ROW).limit(sample_size(policy)).toArrow().combine_chunks()
    table = table.rename_columns(with_dots(table.column_names))
    batch = table.to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)
    values = Encoder(policy, np.zeros(2, np.uint64)).encode(batch, np.arange(len(batch))).values
    return learned_tree(policy, values) if values.shape[1] else None


def _streaming(records: DataFrame, job: Job, counted: Observation | str, drain: Drain) -> DataFrame:
    def step(rows: DataFrame, here: tuple[int, ...]) -> DataFrame:
        return _stateful(rows, StreamStep(job, here))

    def budget(messages: DataFrame) -> DataFrame:
        return _stateful(messages, BudgetStep(job))

    if job.policy.is_filter:
        return _run_lanes(records, job, counted, step, budget)
    if job.policy.window is None or job.policy.window.kind != "time":
        lasts = ticks(records.sparkSession, job, "", drain.file)
        return _run_lanes(records, job, counted, step, budget, lambda messages: messages.union(lasts))
    reports = Reports()
    records.sparkSession.streams.addListener(reports)
    beats = ticks(records.sparkSession, job, reports.file, drain.file)
    left = _run_lanes(records, job, counted, step, budget, lambda messages: at_batch_time(messages.union(beats)))
    return observed(left, reports)


def _stateful(messages: DataFrame, processor: StatefulProcessor) -> DataFrame:
    grouped: GroupedData = messages.groupBy("key")
    return grouped.transformWithStateInPandas(processor, SCHEMA, "Append", "None")


def _batch(records: DataFrame, job: Job, counted: Observation | str) -> DataFrame:
    if job.policy.time:
        records = records.orderBy(column_at(records, job.policy.time.field), F.col(ROW))

    def step(rows: DataFrame, here: tuple[int, ...]) -> DataFrame:
        ordered = rows.repartition(len(job.routing.keys), "key").sortWithinPartitions("key", "part", "seq")
        return ordered.mapInArrow(BatchStep(job, here).__call__, SCHEMA)

    def budget(messages: DataFrame) -> DataFrame:
        ordered = messages.repartition(len(job.routing.keys), "key").sortWithinPartitions("key", "part", "seq")
        return ordered.mapInArrow(BatchBudgetStep(job).__call__, SCHEMA)

    return _run_lanes(records, job, counted, step, budget)


def _run_lanes(
    records: DataFrame, job: Job, counted: Observation | str, step: Callable[[DataFrame, tuple[int, ...]], DataFrame],
    budget: Callable[[DataFrame], DataFrame], clocked: Callable[[DataFrame], DataFrame] = lambda messages: messages,
) -> DataFrame:  # fmt: skip
    """Run the records through the lanes and, if there are several windows, through the common lane."""
    *own, common = job.routing.keys
    messages = records.mapInArrow(EncodeStep(job).__call__, SCHEMA)
    if job.policy.releases:
        messages = budget(messages)
    if job.policy.is_filter:  # counted after the lanes, which reject late observations
        return _counted(step(messages, tuple(own)), counted)
    left = step(clocked(_counted(messages, counted)), tuple(own))
    if job.late is not None:
        left = left.observe(f"{counted}-late", F.coalesce(F.sum("rejected"), F.lit(0)).alias("rejected"))
    return left if job.lanes == 1 else step(left, (common,))


def _counted(messages: DataFrame, observation: Observation | str) -> DataFrame:
    """Report to Spark how many records were received and rejected."""
    return messages.observe(observation, *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("received", "rejected")))
