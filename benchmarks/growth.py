"""How a query on Spark grows: its own steps in one process, without Spark, lane after lane, by processor time.

    python benchmarks/growth.py [--most 1024] [--each 2000] [--batches 10] [--algorithm fads]
    python benchmarks/growth.py --scenarios [--lanes 64]
    python benchmarks/growth.py --counted [--most 1024]

It needs the extra `spark`. Each micro-batch goes through the steps that Spark would run: records are encoded in tasks of
65,536; each lane restores its encrypted state, takes its messages in, and is saved again; so does the common lane; what left is
decoded. The window holds --each tuples for each lane, and a micro-batch a quarter of that. The columns of a row:

    batch        tuples of a micro-batch
    encode       µs of processor time per tuple, messages included
    lane         µs per tuple in its lane, state included; state: the part of it for the state
    fullest      tuples that the fullest lane of each batch took in, over those of a mean lane
    slowest      µs of the slowest lane of each batch, over those of a mean lane
    common       milliseconds of the common lane for each batch; decode: µs per tuple that left
    time         of a micro-batch, in milliseconds, if each task had a core of its own and Spark took no time
    tuples/s     at that time
    loss, withheld, handed over: mean loss of what left, and the shares of tuples suppressed and handed to the common lane

Records are made up: people of 64 towns, with age, income, height, weight, pulse and place; a fifth has no pulse; k is 50.
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal import Policy
from shoal.anonymizer import Transfer, Windowed, learned_tree, sample_size
from shoal.bench import described, machine
from shoal.columns import Encoder
from shoal.spark.job import Job
from shoal.spark.lane import ROW, KeyedLane, lane
from shoal.spark.message import Message, to_batch
from shoal.spark.message import from_batch as messages_of
from shoal.spark.routing import Routing, keys
from shoal.spark.steps import CHUNK, DecodeStep, EncodeStep, plain

KEY = "0" * 32
SECONDS = 2.0  # of the window
PARTS = 4  # micro-batches in a window
FULL = 5  # micro-batches until the window is full
POLICY = """
person: pid
time: {{field: t}}
attributes:
  age: {{quasi: numeric, range: [0, 100], grid: 1}}
  income: {{quasi: numeric, range: [0, 200000], grid: 1000}}
  height: {{quasi: numeric, range: [120, 220], grid: 1}}
  weight: {{quasi: numeric, range: [30, 150], grid: 1}}
  pulse: {{quasi: numeric, range: [30, 190], grid: 1}}
  east: {{quasi: numeric, range: [0, 1000], grid: 1}}
  north: {{quasi: numeric, range: [0, 1000], grid: 1}}
privacy: {{k: 50}}
window: {window}
algorithm: {{name: {algorithm}}}
"""
SCENARIOS = (
    "as it comes",
    "hot cell",
    "hot person",
    "sorted by age",
    "sorted by east",
    "sorted by east, tree of the first rows",
)
HEAD = " | ".join((
    "lanes", "batch", "encode", "lane", "state", "fullest", "slowest", "common", "decode", "time", "tuples/s", "loss",
    "withheld", "handed over",
))  # fmt: skip


class Cost(NamedTuple):
    """Processor seconds of a micro-batch."""

    encode: list[float]
    lanes: list[float]
    fullest: float
    state: float
    common: float
    decode: float
    arrived: int
    left: int

    def seconds(self, lanes: int) -> float:
        """If each task had a core."""
        return max(self.encode) + max(self.lanes) + self.common + self.decode / lanes


class Query:
    """The steps of one query, and the state of its lanes."""

    def __init__(self, policy: Policy, sample: pa.RecordBatch) -> None:
        zero = np.zeros(2, np.uint64)
        encoded = Encoder(policy, zero).encode(sample, np.arange(len(sample)))
        tree = learned_tree(policy, encoded.values) if policy.lanes > 1 else None
        nothing = Windowed(policy).arrive(sample.slice(0, 0), np.zeros(0, np.int64)).published.schema
        published = pa.schema([pa.field(field.name, plain(field.type)) for field in nothing])
        routing = Routing(tree, keys(policy.lanes, policy.lanes))
        self.job = Job(policy=policy, routing=routing, whole=tuple(encoded.whole.tolist()), published=published, secret=KEY)
        self.sealed: dict[int, bytes] = {}
        self.handed = 0
        self.bytes = self.messages = 0
        self.loss = self.suppressed = self.gone = 0.0

    def encode(self, records: pa.RecordBatch) -> tuple[list[float], list[Message]]:
        took, sent = [], []
        for start in range(0, len(records), CHUNK):
            with Clock() as clock:
                for found in EncodeStep(self.job)([records.slice(start, CHUNK)]):
                    sent.extend(messages_of(found))
                    self.bytes += found.nbytes
            took.append(clock.seconds)
        self.messages += len(sent)
        return took, sent

    def run(self, key: int, messages: list[Message]) -> tuple[float, float, list[Message]]:
        """Seconds of a lane, those for its state, and its answers."""
        with Clock() as state:
            here = self._restored(key)
        with Clock() as work:
            answers = here.take_in(messages, in_order=False)
        with Clock() as saved:
            self.sealed[key] = self.job.sealed({"reached": here.newest}, here.snapshot())
        self._count(here)
        for_state = state.seconds + saved.seconds
        return for_state + work.seconds, for_state, answers

    def _restored(self, key: int) -> KeyedLane:
        here = lane(self.job, key)
        if key in self.sealed:
            header, found = self.job.opened(self.sealed[key])
            here.restore(found)
            here.newest = header["reached"]
        here.before = self._tally(here)
        return here

    @staticmethod
    def _tally(here: Any) -> tuple[float, int, int]:
        tally = here._lane._lane.tally
        suppressed = int(tally.suppressed)
        return float(tally.loss), suppressed, int(tally.clustered) + int(tally.reused) + suppressed

    def _count(self, here: Any) -> None:
        loss, suppressed, gone = (now - then for now, then in zip(self._tally(here), here.before, strict=True))
        self.loss, self.suppressed, self.gone = self.loss + loss, self.suppressed + suppressed, self.gone + gone

    def batch(self, records: pa.RecordBatch) -> Cost:
        encode, sent = self.encode(records)
        by: dict[int, list[Message]] = {}
        for message in sent:
            by.setdefault(message.key, []).append(message)
        *own, common = self.job.routing.keys
        took, state, answers = [], 0.0, []
        for key in own:
            if key in by:
                seconds, kept, found = self.run(key, by[key])
                took.append(seconds)
                state += kept
                answers.extend(found)
        sizes = [sum(len(transfer(message)) for message in by.get(key, ())) for key in own]
        fullest = max(sizes) / statistics.mean(sizes)
        waiting = [message for message in answers if message.key == common and not message.published]
        self.handed += sum(len(transfer(message)) for message in waiting)
        together = 0.0
        if waiting and self.job.lanes > 1:
            together, _, found = self.run(common, waiting)
            answers.extend(found)
        published = to_batch([message for message in answers if message.published])
        with Clock() as decode:
            left = sum(map(len, DecodeStep(self.job)([published])))
        return Cost(encode, took, fullest, state, together, decode.seconds, len(records), left)


def transfer(message: Message) -> NDArray[np.int64]:
    return Transfer.from_bytes(message.tuples).rows if message.tuples else np.zeros(0, np.int64)


class Clock:
    """Processor seconds of this process; other programs do not count."""

    def __enter__(self) -> Clock:
        self._began = time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.process_time() - self._began


def people(size: int, first: int, rate: float, chance: np.random.Generator, scenario: str = SCENARIOS[0]) -> pa.RecordBatch:
    towns = np.random.default_rng(7).uniform(0, 1000, (64, 2))
    age = np.clip(chance.normal(42, 18, size), 0, 100)
    town = towns[np.minimum(chance.zipf(1.5, size) - 1, 63)]
    height = np.clip(chance.normal(172, 9, size) - 60 * np.maximum(0, 12 - age) / 12, 120, 220)
    columns = {
        "age": age, "income": np.clip(chance.lognormal(10.3, 0.5, size), 0, 200_000), "height": height,
        "weight": np.clip((height - 100) * chance.normal(1, 0.15, size), 30, 150),
        "pulse": np.clip(chance.normal(75, 14, size), 30, 190),
        "east": np.clip(town[:, 0] + chance.normal(0, 8, size), 0, 1000),
        "north": np.clip(town[:, 1] + chance.normal(0, 8, size), 0, 1000),
    }  # fmt: skip
    if scenario.startswith("sorted"):
        order = np.argsort(columns[scenario.split(",")[0].split()[-1]])
        columns = {name: column[order] for name, column in columns.items()}
    if scenario == "hot cell":
        hot = chance.random(size) < 0.3
        for column, value in zip(columns.values(), (30, 30_000, 180, 80, 70, 500, 500), strict=True):
            column[hot] = value
    person = np.arange(first, first + size)
    if scenario == "hot person":
        person = np.where(chance.random(size) < 0.3, -1, person)
    arrays = {name: pa.array(np.round(column)) for name, column in columns.items()}
    arrays["pulse"] = pa.array(np.round(columns["pulse"]), mask=chance.random(size) < 0.2)
    given = {"pid": person, "t": (first + np.arange(size)) / rate, **arrays, ROW: person ^ np.arange(size)}
    return pa.record_batch(given)


def policy(lanes: int, each: int, algorithm: str, kind: str) -> Policy:
    window = f"{{time: {SECONDS}s}}" if kind == "time" else f"{{count: {lanes * each}}}"
    return replace(Policy.parse(POLICY.format(window=window, algorithm=algorithm)), lanes=lanes)


def stream(lanes: int, each: int, batches: int, scenario: str) -> Iterator[pa.RecordBatch]:
    chance, size = np.random.default_rng(1), lanes * each // PARTS
    everything = None
    if scenario.startswith("sorted"):
        everything = people(size * batches, 0, lanes * each / SECONDS, chance, scenario)
    for number in range(batches):
        if everything is None:
            yield people(size, number * size, lanes * each / SECONDS, chance, scenario)
        else:
            yield everything.slice(number * size, size)


def started(lanes: int, each: int, algorithm: str, kind: str, scenario: str, batches: int) -> Query:
    rule = policy(lanes, each, algorithm, kind)
    wanted = sample_size(rule)
    if scenario.endswith("first rows"):
        sample = people(lanes * each // PARTS * batches, 0, 1.0, np.random.default_rng(1), scenario).slice(0, wanted)
    else:
        drawn = SCENARIOS[0] if scenario.startswith("sorted") else scenario
        sample = people(wanted, 0, 1.0, np.random.default_rng(2), drawn)
    return Query(rule, sample.drop_columns([ROW]))


def row(lanes: int, each: int, asked: argparse.Namespace, scenario: str) -> str:
    query = started(lanes, each, asked.algorithm, "time", scenario, asked.batches)
    costs = []
    for records in stream(lanes, each, asked.batches, scenario):
        gc.collect()  # a worker of Spark holds one lane, not all of them
        costs.append(query.batch(records))
    costs = costs[FULL:]
    arrived = sum(cost.arrived for cost in costs)
    seconds = statistics.median(cost.seconds(lanes) for cost in costs)
    size = costs[0].arrived
    cells = [
        f"{lanes:,}", f"{size:,}",
        f"{micro(sum(map(sum, (cost.encode for cost in costs))), arrived):.1f}",
        f"{micro(sum(map(sum, (cost.lanes for cost in costs))), arrived):.1f}",
        f"{micro(sum(cost.state for cost in costs), arrived):.1f}",
        f"{statistics.median(cost.fullest for cost in costs):.1f}",
        f"{statistics.median(max(cost.lanes) / statistics.mean(cost.lanes) for cost in costs):.1f}",
        f"{1000 * statistics.median(cost.common for cost in costs):.0f}",
        f"{micro(sum(cost.decode for cost in costs), sum(cost.left for cost in costs)):.1f}",
        f"{1000 * seconds:,.0f}", f"{size / seconds:,.0f}",
        f"{query.loss / query.gone:.3f}", f"{100 * query.suppressed / query.gone:.2f} %",
        f"{100 * query.handed / (asked.batches * size):.2f} %",
    ]  # fmt: skip
    return " | ".join(cells)


def micro(seconds: float, tuples: int) -> float:
    return 1e6 * seconds / max(tuples, 1)


def growth(asked: argparse.Namespace) -> None:
    print(HEAD)
    lanes = 1
    while lanes <= asked.most:
        print(row(lanes, asked.each, asked, SCENARIOS[0]), flush=True)
        lanes *= 4


def scenarios(asked: argparse.Namespace) -> None:
    print("scenario |", HEAD)
    for scenario in SCENARIOS:
        print(scenario, "|", row(asked.lanes, asked.each, asked, scenario), flush=True)


def counted(asked: argparse.Namespace) -> None:
    """What it costs a lane to see the arrivals of all lanes; of many lanes only some are run."""
    print("lanes | µs per tuple in its lane, time window | count window | bytes per tuple on the way to a lane, time | count")
    lanes = 4
    while lanes <= asked.most:
        cells = [f"{lanes:,}"]
        sent = []
        for kind in ("time", "count"):
            query = started(lanes, asked.each, asked.algorithm, kind, SCENARIOS[0], FULL + 1)
            some = query.job.routing.keys[: lanes : max(lanes // 4, 1)]
            took, arrived, size = 0.0, 0, 0
            for number, records in enumerate(stream(lanes, asked.each, FULL + 1, SCENARIOS[0])):
                size += len(records)
                _, messages = query.encode(records)
                for key in some:
                    mine = [message for message in messages if message.key == key]
                    seconds, _, _ = query.run(key, mine)
                    if number:
                        took, arrived = took + seconds, arrived + sum(len(transfer(message)) for message in mine)
            cells.append(f"{micro(took, arrived):,.1f}")
            sent.append(f"{query.bytes / size:,.0f}")
        print(" | ".join([*cells, *sent]), flush=True)
        lanes *= 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithm", default="fads")
    parser.add_argument("--most", type=int, default=1024, help="lanes")
    parser.add_argument("--lanes", type=int, default=64, help="of --scenarios")
    parser.add_argument("--each", type=int, default=2000, help="tuples in the window for each lane")
    parser.add_argument("--batches", type=int, default=10)
    parser.add_argument("--scenarios", action="store_true")
    parser.add_argument("--counted", action="store_true")
    asked = parser.parse_args()
    gc.disable()
    print(described(machine()), "load", os.getloadavg())
    (scenarios if asked.scenarios else counted if asked.counted else growth)(asked)


if __name__ == "__main__":
    main()
