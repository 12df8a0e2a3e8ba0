"""A DataFrame goes in, the anonymized DataFrame comes out."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_schema
from pyspark.sql.types import MapType, StructField, StructType

from shoal.anonymizer import Filter, SplitTree, Windowed, learned_tree, sample_size, secret
from shoal.columns import Encoder
from shoal.errors import InputError, PolicyError, StateError
from shoal.path import head
from shoal.pipeline import FileCipher
from shoal.policy import Policy, Tuned, Zanon
from shoal.spark.job import Job
from shoal.spark.lane import ROW
from shoal.spark.message import SCHEMA
from shoal.spark.routing import Routing, keys
from shoal.spark.state_file import load, save
from shoal.spark.steps import BatchStep, DecodeStep, EncodeStep, StreamStep, plain

VARIABLE = "SHOAL_KEY"
_PARTITIONS = "spark.sql.shuffle.partitions"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
"""The only state store that works for lanes."""


def anonymize(
    df: DataFrame, policy: Policy | Mapping[str, Any] | str | PathLike[str], lanes: int = 8, *,
    sample: DataFrame | None = None, split_tree: str | None = None, key: str | None = None,
) -> DataFrame:  # fmt: skip
    """Anonymize a DataFrame of Spark by a policy; streaming or not, from any source to any sink.

    Parameters
    ----------
    df
        The records. Rows of a streaming query come out when they leave, in append mode.
    policy
        A policy, or the mapping or the path of a policy.
    lanes
        How many windows run in parallel, one task each. Similar tuples share a window; under z-anonymity, equal items do.
    sample
        For a streaming query with several lanes: a batch DataFrame with the same columns and some thousand rows. From it the
        split tree is learned, which decides which tuples share a lane. It is read once, if no split tree was saved yet.
    split_tree
        For a streaming query with several lanes: a folder, such as one beside the checkpoint, in which the split tree is saved.
    key
        For a streaming query: the secret that encrypts its state, at least 32 bytes; by default the value of SHOAL_KEY.

    Raises
    ------
    PolicyError, InputError, StateError
        The policy, the DataFrame, or the saved state of the query cannot be used.
    """
    if isinstance(policy, Mapping):
        policy = Policy.parse(policy)
    elif not isinstance(policy, Policy):
        policy = Policy.load(policy)
    policy, lanes = _with_lanes(policy, lanes)
    records = _records(df, policy)
    job = _job(records, policy, lanes, sample, split_tree, key)
    steps = _streaming if df.isStreaming else _batch
    return steps(records, job).mapInArrow(DecodeStep(job).__call__, _types(df, job.published))


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
    if policy.releases:
        problems.append("releases: the tasks of a query do not share the counts of persons; remove it, or use shoal pipe")
    k, room = policy.privacy.k, policy.window.buffer
    if room and room < k * lanes:
        problems.append(f"lanes: leave each lane {room // lanes} tuples of the buffer, below k={k}; use at most {room // k}")
    if problems:
        raise PolicyError(problems)
    return replace(policy, lanes=lanes), lanes


def _records(df: DataFrame, policy: Policy) -> DataFrame:
    """The columns that the policy reads, and a digest of each record."""
    names = list(dict.fromkeys(head(field) if field not in df.columns else field for field in policy.fields))
    absent = [name for name in names if name not in df.columns]
    if absent:
        raise InputError(f"{', '.join(absent)}: no such column; correct the policy or the DataFrame")
    columns = [F.col(f"`{name}`") for name in names]
    maps = [isinstance(df.schema[name].dataType, MapType) for name in names]
    hashed = [F.to_json(column) if is_map else column for column, is_map in zip(columns, maps, strict=True)]
    return df.select(*columns, F.xxhash64(*hashed, *(column.isNull() for column in columns)).alias(ROW))


def _job(
    records: DataFrame, policy: Policy, lanes: int, sample: DataFrame | None, folder: str | None, given: str | None
) -> Job:
    streaming = records.isStreaming
    if streaming and records.sparkSession.conf.get(_PROVIDER) != ROCKSDB:
        raise InputError(f"{_PROVIDER}: lanes keep their state in RocksDB; set it to {ROCKSDB}")
    secret_key = given or os.environ.get(VARIABLE) or ("" if streaming else secrets.token_hex(32))
    if not secret_key:
        raise StateError(f"key: there is none, and {VARIABLE} is not set; a streaming query keeps raw records, encrypted")
    FileCipher(secret_key)  # raises an error if the key is too short
    schema = to_arrow_schema(records.drop(ROW).schema)
    nothing = pa.RecordBatch.from_pylist([], schema)
    pseudonyms = secret(policy.algorithm) if isinstance(policy.algorithm, Zanon) else None
    engine = Filter(policy, pseudonyms) if pseudonyms else Windowed(replace(policy, lanes=1))
    published = engine.arrive(nothing, np.zeros(0, np.int64)).published.schema
    zero = np.zeros(2, np.uint64)
    whole = () if policy.is_filter else tuple(Encoder(policy, zero).encode(nothing, np.zeros(0, np.int64)).whole.tolist())
    partitions = int(records.sparkSession.conf.get(_PARTITIONS) or 200) if streaming else lanes + 1
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
        raise InputError("split_tree: name a folder, such as one beside the checkpoint, that a query goes on with")
    found = load(records.sparkSession, folder, key)
    if found is not None:
        routing = Routing.from_bytes(found)
        if len(routing.keys) != lanes + 1:
            raise StateError(f"split_tree: has {len(routing.keys) - 1} lanes, not {lanes}; give that number, or begin anew")
        return routing
    if sample is None:
        raise InputError("sample: is needed to learn the split tree of a streaming query; give a batch DataFrame")
    routing = Routing(_learned(_records(sample, policy), policy), keys(lanes, partitions))
    save(records.sparkSession, folder, key, routing.to_bytes())
    return routing


def _learned(records: DataFrame, policy: Policy) -> SplitTree | None:
    """The split tree of some records."""
    table = records.drop(ROW).limit(sample_size(policy)).toArrow().combine_chunks()
    batch = table.to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)
    values = Encoder(policy, np.zeros(2, np.uint64)).encode(batch, np.arange(len(batch))).values
    return learned_tree(policy, values) if values.shape[1] else None


def _types(df: DataFrame, published: pa.Schema) -> StructType:
    """The types of the published columns; a column that is passed through keeps its Spark type."""
    known = {field.name: field.dataType for field in df.schema.fields}
    same = dict(zip(known, to_arrow_schema(df.schema).types, strict=True))
    return StructType([
        StructField(field.name, known[field.name] if same.get(field.name) == field.type else from_arrow_type(field.type))
        for field in published
    ])  # fmt: skip


def _streaming(records: DataFrame, job: Job) -> DataFrame:
    timed = job.policy.window is not None and job.policy.window.kind == "time"
    mode = "ProcessingTime" if timed else "None"

    def step(rows: DataFrame, here: tuple[int, ...]) -> DataFrame:
        grouped: GroupedData = rows.groupBy("key")
        return grouped.transformWithStateInPandas(StreamStep(job, here), SCHEMA, "Append", mode)

    return _run_lanes(records, job, step)


def _batch(records: DataFrame, job: Job) -> DataFrame:
    if job.policy.time:
        records = records.orderBy(F.col(job.policy.time.field), F.col(ROW))

    def step(rows: DataFrame, here: tuple[int, ...]) -> DataFrame:
        ordered = rows.repartition(len(job.routing.keys), "key").sortWithinPartitions("key", "part", "seq")
        return ordered.mapInArrow(BatchStep(job, here).__call__, SCHEMA)

    return _run_lanes(records, job, step)


def _run_lanes(records: DataFrame, job: Job, step: Callable[[DataFrame, tuple[int, ...]], DataFrame]) -> DataFrame:
    """Run the records through the lanes and, if there are several windows, through the common lane."""
    *own, common = job.routing.keys
    messages = records.mapInArrow(EncodeStep(job).__call__, SCHEMA)
    if job.policy.is_filter:  # counted after the lanes, which reject late observations
        return _counted(step(messages, tuple(own)))
    left = step(_counted(messages), tuple(own))
    return left if job.lanes == 1 else step(left, (common,))


def _counted(messages: DataFrame) -> DataFrame:
    """Report to Spark how many records were received and rejected."""
    return messages.observe("shoal", *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in ("received", "rejected")))
