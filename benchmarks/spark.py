"""shoal on Spark: its speed beside an operator that only passes rows through, and what lanes lose.

    python benchmarks/spark.py --data DIR [--tuples 200000] [--algorithm tide] [--master local[2]]
    python benchmarks/spark.py --data DIR --loss [--most 256]

Speed: UCI Adult as Parquet files, one file a micro-batch, into a sink that drops everything; the two queries take turns, batch
times without the first two, which start workers. Loss: in one process, by the very lanes that run on Spark, with 2,000 tuples
in the window for each lane, since more lanes are for faster streams; one lane has the same window as all of them together.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from shoal import Anonymizer
from shoal.anonymizer.locality import BEGINNING, learned
from shoal.anonymizer.member import Member
from shoal.anonymizer.travellers import Travellers, together
from shoal.bench.adult import Adult, folder, plain
from shoal.bench.machine import described, machine
from shoal.bench.settings import Contender, Settings
from shoal.columns.encode import Encoder
from shoal.policy import Policy

KEY = "0" * 32
FILES = 6
ROUNDS = 2
DELIVERY = 65_536
EACH = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tuples", type=int, default=200_000, help="of a micro-batch")
    parser.add_argument("--algorithm", default="tide")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--loss", action="store_true")
    parser.add_argument("--most", type=int, default=256, help="lanes")
    asked = parser.parse_args()
    adult, settings = Adult(folder(asked.data)), Settings()
    print(described(machine()), "load", os.getloadavg())
    (loss if asked.loss else speed)(adult, settings, asked)


def speed(adult: Adult, settings: Settings, asked: argparse.Namespace) -> None:
    from shoal.spark import anonymize
    from shoal.spark.pipe import session

    policy = adult.policy(Contender(asked.algorithm, asked.algorithm, {}), settings)
    with TemporaryDirectory() as home:
        source = f"{home}/in"
        os.mkdir(source)
        for number, batches in enumerate([adult.stream(asked.tuples, settings)] * FILES):
            pq.write_table(pa.Table.from_batches([plain(batch) for batch in batches]), f"{source}/{number}.parquet")
        spark = session(asked.master, asked.algorithm, asked.lanes)
        schema = spark.read.parquet(source).schema

        def records() -> Any:
            return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(source)

        def ours(number: int) -> Any:
            sample = spark.read.parquet(source)
            return anonymize(records(), policy, asked.lanes, sample=sample, cells=f"{home}/cells{number}", key=KEY)

        def passed(number: int) -> Any:
            return _passed(records(), schema, asked.lanes)

        found: dict[str, list[float]] = {"shoal": [], "passes rows through": []}
        for number in range(ROUNDS):
            for name, query in (("shoal", ours), ("passes rows through", passed)):
                found[name] += _rates(query(number), f"{home}/{name[0]}{number}", asked.tuples)
        for name, rates in found.items():
            span = f"{len(rates)} batches, {min(rates):,.0f} to {max(rates):,.0f}"
            print(f"{name}: {statistics.median(rates):,.0f} tuples/s (median of {span})")
        ratio = statistics.median(found["shoal"]) / statistics.median(found["passes rows through"])
        print(f"ratio {ratio:.2f}; load {os.getloadavg()}")
        spark.stop()


def _rates(frame: Any, checkpoint: str, tuples: int) -> list[float]:
    query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    query.awaitTermination()
    batches = [each for each in query.recentProgress if each["numInputRows"] == tuples]
    return [tuples / (each["durationMs"]["triggerExecution"] / 1000) for each in batches[2:]]


def _passed(records: Any, schema: Any, lanes: int) -> Any:
    from pyspark.sql import functions as F
    from pyspark.sql.streaming import StatefulProcessor
    from pyspark.sql.types import IntegerType, StructField, StructType

    class Passing(StatefulProcessor):  # type: ignore[misc]
        def init(self, handle: Any) -> None:
            self._seen = handle.getValueState("seen", "n bigint")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            self._seen.update((1,))
            yield from rows

        def close(self) -> None: ...

    names = [f"c{i}" for i in range(len(schema.fields))]  # it does not find columns with a dash in their names
    keyed = records.toDF(*names).withColumn("lane", F.pmod(F.hash("c0"), F.lit(lanes)))
    fields = [StructField(name, field.dataType) for name, field in zip(names, schema.fields, strict=True)]
    out = StructType([*fields, StructField("lane", IntegerType())])
    return keyed.groupBy("lane").transformWithStateInPandas(Passing(), out, "Append", "None")


def loss(adult: Adult, settings: Settings, asked: argparse.Namespace) -> None:
    lanes = 1
    print("lanes | window | tuples | loss | one lane | more | handed over | suppressed | seconds")
    while lanes <= asked.most:
        window = EACH * lanes
        told = replace(settings, window=window)
        policy = adult.policy(Contender(asked.algorithm, asked.algorithm, {}), told)
        stream = adult.stream(max(30_162, 3 * window), told)
        began = time.perf_counter()
        found, handed, suppressed, size = split(replace(policy, lanes=lanes), stream)
        took = time.perf_counter() - began
        one = alone(policy, stream) if lanes <= 16 else float("nan")
        more = f"{100 * (found / one - 1):+.1f} %" if one == one else "-"
        row = (lanes, window, size, f"{found:.4f}", f"{one:.4f}", more, handed, suppressed, f"{took:.0f}")
        print(" | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in row), flush=True)
        lanes *= 2


def alone(policy: Policy, stream: list[pa.RecordBatch]) -> float:
    anonymizer = Anonymizer(policy)
    for batch in stream:
        anonymizer.push_batch(batch)
    anonymizer.flush()
    stats: Any = anonymizer.stats
    return float(stats.loss)


def split(policy: Policy, stream: list[pa.RecordBatch]) -> tuple[float, int, int, int]:
    """Mean loss, how many were handed over, how many were suppressed, and how many there were, in lanes as on Spark."""
    key, lanes = np.array([1, 2], np.uint64), policy.lanes
    encoder = Encoder(policy, key)
    table = pa.Table.from_batches(stream).unify_dictionaries().combine_chunks()
    first = table.slice(0, max(BEGINNING, 32 * lanes)).combine_chunks().to_batches()[0]
    encoded = encoder.encode(first, np.arange(len(first)))
    tree = learned(policy, encoded.batch.values) if lanes > 1 else None
    members = [Member(policy, key, encoded.whole, number) for number in range(lanes + (lanes > 1))]
    gone = 0
    for start in range(0, len(table), DELIVERY):
        batch = table.slice(start, DELIVERY).combine_chunks().to_batches()[0]
        encoded = encoder.encode(batch, np.arange(start, start + len(batch)))
        size = len(encoded.rows)
        chosen = tree.lanes(encoded.batch.values) if tree else np.zeros(size, np.int64)
        counts = np.bincount(chosen, minlength=lanes)
        everyone = Travellers(encoded.batch, pa.Table.from_batches([encoded.kept]), encoded.rows, np.zeros(size, np.int64))
        left = [members[i].arrive(everyone.part(np.flatnonzero(chosen == i)), counts, 0.0) for i in range(lanes)]
        if lanes > 1:
            handed = together([each.handed for each in left])
            gone += len(handed.rows)
            members[-1].join(handed, size, 0.0)
    if lanes > 1:
        members[-1].join(together([member.hand_over_all().handed for member in members[:-1]]), 0, 0.0)
    members[-1].flush()
    tallies = [member._lane.tally for member in members]
    total = sum(int(tally.clustered) + int(tally.reused) + int(tally.suppressed) for tally in tallies)
    assert total == len(table), "a tuple is missing"
    return sum(float(tally.loss) for tally in tallies) / total, gone, sum(int(tally.suppressed) for tally in tallies), total


if __name__ == "__main__":
    sys.exit(main())
