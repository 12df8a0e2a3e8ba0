"""Two independent streams on two threads, against one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Thread
from typing import TypedDict

import pyarrow as pa

from shoal import Policy
from shoal.bench.machine import several
from shoal.bench.session import Session, anonymize
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import Table, count, rate, times


class Row(TypedDict):
    algorithm: str
    one: Timing
    two: Timing
    ratio: float  # of tuples a second


class Threads(TypedDict):
    rows: list[Row]
    cores: int


def measure(session: Session) -> Threads:
    tuples = session.settings.threads
    stream = session.stream(tuples)
    jobs = []
    for contender in session.contenders:
        policy = session.policy(contender)
        for streams in (1, 2):
            work = partial(_together, policy, stream, streams)
            jobs.append(Job(f"{contender.label}, streams: {streams}", work, streams * tuples))
    with several(session.cores):
        timed = interleaved(jobs, session.settings.rounds, session.step)
    rows: list[Row] = [
        {
            "algorithm": contender.label,
            "one": one.timing,
            "two": two.timing,
            "ratio": two.timing["rate"] / one.timing["rate"],
        }
        for contender, one, two in zip(session.contenders, timed[::2], timed[1::2], strict=True)
    ]
    return {"rows": rows, "cores": len(session.cores)}


def tables(result: Threads) -> list[Table]:
    header = ("algorithm", "one stream, tuples/s", "two streams, tuples/s", "ratio", "cores had")
    rows = [
        (
            row["algorithm"], rate(row["one"]["rate"]), rate(row["two"]["rate"]), times(row["ratio"]),
            f"{row['one']['busy']:.2f} and {row['two']['busy']:.2f}",
        )
        for row in result["rows"]
    ]  # fmt: skip
    few = ["This machine gives one core: two threads take turns on it."] if result["cores"] < 2 else []
    notes = [f"{count(result['rows'][0]['one']['tuples'])} tuples a stream.", *few]
    return [Table("Independent streams on threads of one process", header, rows, [" ".join(notes)])]


def _together(policy: Policy, stream: Sequence[pa.RecordBatch], streams: int) -> None:
    threads = [Thread(target=anonymize, args=(policy, stream)) for _ in range(streams)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
