"""shoal on Spark: its speed beside an operator that only passes rows through, and what lanes lose.

    python benchmarks/spark.py --data DIR [--tuples 500000] [--algorithm tide] [--master local[2]]
    python benchmarks/spark.py --data DIR --loss [--most 256]

Speed: UCI Adult as Parquet files, two a micro-batch, into a sink that drops everything. Three queries run side by side in one
session and take turns, a micro-batch each; the first two of each, which start workers, do not count. Beside shoal's, one has
an operator that only passes rows through, and one has two of them, as shoal's has for its lanes and the common lane; their rows
have the keys of the lanes, so that as many tasks work on them.

Loss: in one process, by the very lanes that run on Spark, with 2,000 tuples in the window for each lane, since more lanes are
for faster streams; one lane has the same window as all of them together.
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
from shoal.anonymizer import RemoteLane, Transfer, learned_tree, sample_size
from shoal.bench import Adult, Variant, Workload, described, machine, plain
from shoal.columns.encode import Encoder
from shoal.datasets.adult import folder
from shoal.policy import Policy

KEY = "0" * 32
FIRST, ROUNDS = 2, 8
PARTS = 2
DELIVERY = 65_536
EACH = 2_000
SHOAL = "shoal"
NAMES = (SHOAL, "one operator that passes rows through", "two of them")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tuples", type=int, default=500_000, help="of a micro-batch")
    parser.add_argument("--algorithm", default="tide")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--loss", action="store_true")
    parser.add_argument("--most", type=int, default=256, help="lanes")
    asked = parser.parse_args()
    adult, workload = Adult(folder(asked.data)), Workload()
    print(described(machine()), "load", os.getloadavg())
    (loss if asked.loss else speed)(adult, workload, asked)


def speed(adult: Adult, workload: Workload, asked: argparse.Namespace) -> None:
    from shoal.spark import anonymize
    from shoal.spark.pipe import session

    policy = adult.policy(Variant(asked.algorithm, asked.algorithm, {}), workload)
    table = pa.Table.from_batches([plain(batch) for batch in adult.stream(asked.tuples, workload)])
    with TemporaryDirectory() as home:
        _deliver(table, Path(home, "sample"))
        spark = session(asked.master, asked.algorithm, asked.lanes)
        sample = spark.read.parquet(f"{home}/sample")
        queries = {}
        for name in NAMES:
            os.mkdir(f"{home}/{name}")
            reader = spark.readStream.schema(sample.schema).option("maxFilesPerTrigger", PARTS)
            records = reader.parquet(f"{home}/{name}")
            if name == SHOAL:
                found = anonymize(records, policy, asked.lanes, sample=sample, split_tree=f"{home}/split_tree", key=KEY)
            else:
                found = _passed(records, sample.schema, asked.lanes, NAMES.index(name))
            writer = found.writeStream.format("noop").option("checkpointLocation", f"{home}/of {name}")
            queries[name] = writer.trigger(processingTime="500 milliseconds").start()
        rates: dict[str, list[float]] = {name: [] for name in NAMES}
        for number in range(FIRST + ROUNDS):
            for name, query in queries.items():
                _deliver(table, Path(home, name))
                took = _took(query, number)
                if number >= FIRST:
                    rates[name].append(asked.tuples / took)
        for name, each in rates.items():
            part = statistics.median(rates[SHOAL]) / statistics.median(each)
            span = f"median of {len(each)} batches, {min(each):,.0f} to {max(each):,.0f}"
            print(f"{name}: {statistics.median(each):,.0f} tuples/s ({span}); shoal has {100 * part:.0f} % of it")
        print("load", os.getloadavg())
        for query in queries.values():
            query.stop()
        spark.stop()


def _deliver(table: pa.Table, folder: Path) -> None:
    """A micro-batch, which appears at once: files with a dot are not looked at."""
    folder.mkdir(exist_ok=True)
    size, drafts = -(-len(table) // PARTS), []
    for part in range(PARTS):
        draft = folder / f".{time.time_ns()}-{part}.parquet"
        pq.write_table(table.slice(part * size, size), draft)
        drafts.append(draft)
    for draft in drafts:
        draft.rename(folder / draft.name[1:])


def _took(query: Any, number: int) -> float:
    """Seconds of the micro-batch of this number, once it is there."""
    while True:
        if query.exception():
            raise query.exception()
        found = [each for each in query.recentProgress if each["numInputRows"]]
        if len(found) > number:
            return float(found[number]["durationMs"]["triggerExecution"]) / 1000
        time.sleep(0.05)


def _passed(records: Any, schema: Any, lanes: int, operators: int) -> Any:
    from pyspark.sql import functions as F
    from pyspark.sql.streaming import StatefulProcessor
    from pyspark.sql.types import IntegerType, StructField, StructType

    from shoal.spark.routing import keys

    class Passing(StatefulProcessor):  # type: ignore[misc]
        def init(self, handle: Any) -> None:
            self._seen = handle.getValueState("seen", "n bigint")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:
            self._seen.update((1,))
            yield from rows

        def close(self) -> None: ...

    names = [f"c{i}" for i in range(len(schema.fields))]  # it does not find columns with a dash in their names
    fields = [StructField(name, field.dataType) for name, field in zip(names, schema.fields, strict=True)]
    out = StructType([*fields, StructField("lane", IntegerType())])
    lane = F.element_at(F.array(*map(F.lit, keys(lanes, lanes)[:lanes])), F.pmod(F.hash(*names), F.lit(lanes)) + 1)
    passed = records.toDF(*names).withColumn("lane", lane)
    for _ in range(operators):
        passed = passed.groupBy("lane").transformWithStateInPandas(Passing(), out, "Append", "None")
    return passed


def loss(adult: Adult, workload: Workload, asked: argparse.Namespace) -> None:
    lanes = 1
    print("lanes | window | tuples | loss | one lane | more | handed over | suppressed | seconds")
    while lanes <= asked.most:
        window = EACH * lanes
        wider = replace(workload, window=window)
        policy = adult.policy(Variant(asked.algorithm, asked.algorithm, {}), wider)
        stream = adult.stream(max(30_162, 3 * window), wider)
        began = time.perf_counter()
        found, handed, suppressed, size = split(replace(policy, lanes=lanes), stream)
        took = time.perf_counter() - began
        one = alone(policy, stream)
        more = f"{100 * (found / one - 1):+.1f} %"
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
    first = table.slice(0, sample_size(policy)).combine_chunks().to_batches()[0]
    encoded = encoder.encode(first, np.arange(len(first)))
    tree = learned_tree(policy, encoded.values) if lanes > 1 else None
    remote = [RemoteLane(policy, key, encoded.whole, number) for number in range(lanes + (lanes > 1))]
    gone = 0
    for start in range(0, len(table), DELIVERY):
        batch = table.slice(start, DELIVERY).combine_chunks().to_batches()[0]
        encoded = encoder.encode(batch, np.arange(start, start + len(batch)))
        size = len(encoded.rows)
        chosen = tree.lanes(encoded.values) if tree else np.zeros(size, np.int64)
        counts = np.bincount(chosen, minlength=lanes)
        everyone = Transfer.of(encoded)
        left = [remote[i].arrive(everyone.select(np.flatnonzero(chosen == i)), counts, 0.0) for i in range(lanes)]
        if lanes > 1:
            handed = Transfer.concat([each.handed_over for each in left])
            gone += len(handed.rows)
            remote[-1].join(handed, size, 0.0)
    if lanes > 1:
        remote[-1].join(Transfer.concat([lane.hand_over_all().handed_over for lane in remote[:-1]]), 0, 0.0)
    remote[-1].flush()
    tallies = [lane._lane.tally for lane in remote]
    total = sum(int(tally.clustered) + int(tally.reused) + int(tally.suppressed) for tally in tallies)
    assert total == len(table), "a tuple is missing"
    return sum(float(tally.loss) for tally in tallies) / total, gone, sum(int(tally.suppressed) for tally in tallies), total


if __name__ == "__main__":
    sys.exit(main())
