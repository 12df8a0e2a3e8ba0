"""shoal on Spark: its speed beside an operator that only passes rows through, and what lanes lose.

    python benchmarks/spark.py --data DIR [--tuples 500000] [--algorithm tide] [--master local[2]]
    python benchmarks/spark.py --data DIR --loss [--most 256]
    python benchmarks/spark.py --timed [--tuples 200000]

Speed: UCI Adult as Parquet files, two a micro-batch, into a sink that drops everything. Three queries run side by side in one
session and take turns, a micro-batch each; the first two of each, which start workers, do not count. Beside shoal's, one has
an operator that only passes rows through, and one has two of them, as shoal's has for its lanes and the common lane; their
rows have the keys of the lanes, so that as many tasks work on them: one for each lane, and no more than cores. Beside the
time of a micro-batch, the processor time of all processes of the session is measured, from its delivery to its end; on a
machine with other work, that is the better figure.

Timed: made-up people (see growth.py) under a time window of four seconds, a trigger of one, and after the last of them nothing:
how many micro-batches had no input, and what processor time it took until everything had left and the query rested.

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
FIRST = 2
PARTS = 2
SILENCE = 12.0  # seconds
DELIVERY = 65_536
EACH = 2_000
SHOAL = "shoal"
NAMES = (SHOAL, "one operator that passes rows through", "two of them")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tuples", type=int, default=500_000, help="of a micro-batch")
    parser.add_argument("--algorithm", default="tide")
    parser.add_argument("--lanes", type=int, default=2)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--also", type=int, default=0, help="lanes of two more queries: shoal's, and one operator")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--timed", action="store_true")
    parser.add_argument("--loss", action="store_true")
    parser.add_argument("--most", type=int, default=256, help="lanes")
    asked = parser.parse_args()
    print(described(machine()), "load", os.getloadavg())
    if asked.timed:
        timed(asked)
        return
    if asked.data is None:
        parser.error("--data: is needed")
    adult, workload = Adult(folder(asked.data)), Workload()
    (loss if asked.loss else speed)(adult, workload, asked)


def speed(adult: Adult, workload: Workload, asked: argparse.Namespace) -> None:
    from shoal.spark import anonymize
    from shoal.spark.configure import PARTITIONS
    from shoal.spark.pipe import session, settings

    policy = adult.policy(Variant(asked.algorithm, asked.algorithm, {}), workload)
    table = pa.Table.from_batches([plain(batch) for batch in adult.stream(asked.tuples, workload)])
    with TemporaryDirectory() as home:
        _deliver(table, Path(home, "sample"))
        spark = session(asked.master, asked.algorithm, asked.lanes)
        sample = spark.read.parquet(f"{home}/sample")
        queries = {}
        contenders = [(name, asked.lanes, operators) for operators, name in enumerate(NAMES)]
        if asked.also:
            contenders += [(f"{name}, {asked.also} lanes", asked.also, operators) for operators, name in enumerate(NAMES[:2])]
        for name, lanes, operators in contenders:
            os.mkdir(f"{home}/{name}")
            spark.conf.set(PARTITIONS, settings(asked.master, asked.algorithm, lanes)[PARTITIONS])
            reader = spark.readStream.schema(sample.schema).option("maxFilesPerTrigger", PARTS)
            records = reader.parquet(f"{home}/{name}")
            if not operators:
                found = anonymize(records, policy, lanes, sample=sample, split_tree=f"{home}/tree{lanes}", key=KEY)
            else:
                found = _passed(records, sample.schema, lanes, int(spark.conf.get(PARTITIONS)), operators)
            writer = found.writeStream.format("noop").option("checkpointLocation", f"{home}/of {name}")
            queries[name] = writer.trigger(processingTime="500 milliseconds").start()
        rates: dict[str, list[float]] = {name: [] for name in queries}
        costs: dict[str, list[float]] = {name: [] for name in queries}
        for number in range(FIRST + asked.rounds):
            for name, query in queries.items():
                _deliver(table, Path(home, name))
                used = _processor_time()
                took = _took(query, number)
                if number >= FIRST:
                    rates[name].append(asked.tuples / took)
                    costs[name].append(1e6 * (_processor_time() - used) / asked.tuples)
        for name, each in rates.items():
            part = statistics.median(rates[SHOAL]) / statistics.median(each)
            cost = statistics.median(costs[name])
            less = cost / statistics.median(costs[SHOAL])
            span = f"median of {len(each)} batches, {min(each):,.0f} to {max(each):,.0f}"
            print(f"{name}: {statistics.median(each):,.0f} tuples/s ({span}); shoal has {100 * part:.0f} % of it")
            print(f"    {cost:.2f} µs of processor time a tuple; by that, shoal reaches {100 * less:.0f} % of its speed")
        print("load", os.getloadavg())
        for query in queries.values():
            query.stop()
        spark.stop()


def timed(asked: argparse.Namespace) -> None:
    import growth

    from shoal.spark import anonymize
    from shoal.spark.pipe import session

    policy = Policy.parse(growth.POLICY.format(window="{time: 4s}", algorithm=asked.algorithm))
    chance = np.random.default_rng(1)
    given = [
        growth.people(asked.tuples, number * asked.tuples, asked.tuples, chance).drop_columns([growth.ROW])
        for number in range(FIRST + asked.rounds)
    ]
    with TemporaryDirectory() as home:
        _deliver(pa.Table.from_batches(given[:1]), Path(home, "sample"))
        spark = session(asked.master, asked.algorithm, asked.lanes)
        sample = spark.read.parquet(f"{home}/sample")
        os.mkdir(f"{home}/in")
        records = spark.readStream.schema(sample.schema).option("maxFilesPerTrigger", PARTS).parquet(f"{home}/in")
        found = anonymize(records, policy, asked.lanes, sample=sample, split_tree=f"{home}/tree", key=KEY)
        writer = found.writeStream.format("noop").option("checkpointLocation", f"{home}/checkpoint")
        query = writer.trigger(processingTime="1 second").start()
        for number, batch in enumerate(given):
            if number == FIRST:
                began = _processor_time()
            _deliver(pa.Table.from_batches([batch]), Path(home, "in"))
            _took(query, number)
        used = _processor_time() - began
        _rest(query)
        drained = _processor_time() - began - used
        ran = {each["batchId"]: each for each in query.recentProgress if each["durationMs"].get("addBatch") is not None}
        empty = [each for each in ran.values() if _arrived(each) == 0]
        seconds = sum(each["durationMs"]["triggerExecution"] for each in empty) / 1000
        size, idle = asked.tuples * asked.rounds, _processor_time()
        time.sleep(SILENCE)
        idle = (_processor_time() - idle) / SILENCE
        print(
            f"{size:,} tuples: {1e6 * used / size:.2f} µs of processor time a tuple until the last came, {drained:.1f} s after"
        )
        print(f"{len(ran)} micro-batches, {len(empty)} without input, which took {seconds:.1f} s by the clock")
        print(f"with those, {1e6 * (used + drained) / size:.2f} µs a tuple; at rest {idle:.3f} s of processor time a second")
        query.stop()
        spark.stop()


def _arrived(progress: Any) -> int:
    """The records of a micro-batch; ticks of the clock aside."""
    return sum(each["numInputRows"] for each in progress["sources"] if each["description"].startswith("FileStreamSource"))


def _rest(query: Any) -> None:
    """Wait until no micro-batch has been run for a while."""
    last, since = -1, time.monotonic()
    while time.monotonic() - since < SILENCE:
        done = max(each["batchId"] for each in query.recentProgress if each["durationMs"].get("addBatch") is not None)
        if done > last:
            last, since = done, time.monotonic()
        time.sleep(0.2)


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
        found = [each for each in query.recentProgress if _arrived(each)]
        if len(found) > number:
            return float(found[number]["durationMs"]["triggerExecution"]) / 1000
        time.sleep(0.05)


def _processor_time() -> float:
    """Seconds of this process and all below it, those that have ended included."""
    below = {os.getpid()}
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it has ended
            found[int(entry.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    size = 0
    while size < len(below):
        size = len(below)
        below |= {pid for pid, (parent, _) in found.items() if parent in below}
    return sum(ticks for pid, (_, ticks) in found.items() if pid in below) / os.sysconf("SC_CLK_TCK")


def _passed(records: Any, schema: Any, lanes: int, tasks: int, operators: int) -> Any:
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
    lane = F.element_at(F.array(*map(F.lit, keys(lanes, tasks)[:lanes])), F.pmod(F.hash(*names), F.lit(lanes)) + 1)
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
