"""One stream in lanes, or with the workers of FAST: what that costs in loss, and what it buys in speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import process_time, thread_time
from typing import TypedDict

import pyarrow as pa

from shoal import Anonymizer, Policy
from shoal.bench.machine import several
from shoal.bench.session import Session, anonymize
from shoal.bench.settings import Contender
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import Table, count, rate, times

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
WORKERS = (1, 2, 4, 6)


class Row(TypedDict):
    algorithm: str
    loss: dict[str, float]  # by number of lanes, or workers
    suppressed: dict[str, int]
    one: Timing
    two: Timing
    ratio: float  # of tuples a second
    simulated: dict[str, float]  # the same by number of lanes, as if each had a core of its own


class Lanes(TypedDict):
    rows: list[Row]
    workers: list[Row]  # of FAST alone
    tuples: int
    cores: int


def measure(session: Session) -> Lanes:
    rows: list[Row] = []
    workers: list[Row] = []
    for contender in session.contenders:
        policy = session.policy(contender)
        rows.append(_row(session, contender.label, "lanes", {lanes: replace(policy, lanes=lanes) for lanes in COUNTS}))
        if contender.name == "fast":
            each = {number: Contender("", "fast", {**contender.parameters, "workers": number}) for number in WORKERS}
            policies = {number: session.policy(one) for number, one in each.items()}
            workers.append(_row(session, contender.label, "workers", policies))
    return {"rows": rows, "workers": workers, "tuples": session.settings.small, "cores": len(session.cores)}


def _row(session: Session, label: str, unit: str, policies: Mapping[int, Policy]) -> Row:
    s = session.settings
    short, long = session.stream(s.small), session.stream(s.threads)
    found = {}
    with several(session.cores):
        for i, (number, policy) in enumerate(policies.items()):
            session.step(f"{label}, {unit}: {number}", i, len(policies))
            found[str(number)] = anonymize(policy, short)
        alone = {number: _seconds(policy, long) for number, policy in policies.items()} if unit == "lanes" else {}
        jobs = [Job(f"{label}, {unit}: {number}", partial(anonymize, policies[number], long), s.threads) for number in (1, 2)]
        one, two = (timed.timing for timed in interleaved(jobs, s.rounds, session.step))
    return {
        "algorithm": label, "loss": {number: stats.loss for number, stats in found.items()},
        "suppressed": {number: stats.suppressed for number, stats in found.items()},
        "one": one, "two": two, "ratio": two["rate"] / one["rate"],
        "simulated": {str(number): alone[1] / seconds for number, seconds in alone.items()},
    }  # fmt: skip


def _seconds(policy: Policy, batches: Sequence[pa.RecordBatch]) -> float:
    """Seconds of the processor if every lane had a core of its own: of what lanes do side by side, only the longest counts."""
    anonymizer = Anonymizer(policy)
    saved = 0.0

    def in_turn(work: Callable[[int], None], lanes: int, arrivals: int) -> None:
        nonlocal saved
        moments = [thread_time()]
        for number in range(lanes):
            work(number)
            moments.append(thread_time())
        spent = [after - before for before, after in pairwise(moments)]
        saved += sum(spent) - max(spent)

    if policy.lanes > 1:
        anonymizer._engine._lane.side_by_side = in_turn  # type: ignore[attr-defined]
    start = process_time()
    for batch in batches:
        anonymizer.push_batch(batch)
    anonymizer.flush()
    return process_time() - start - saved


def tables(result: Lanes) -> list[Table]:
    few = ["This machine gives one core: threads take turns on it."] if result["cores"] < 2 else []
    found = [*_both(result["rows"], "lane", result["tuples"], few)]
    if result["workers"]:
        found += _both(result["workers"], "worker", result["tuples"], few)
    return found


def _both(rows: list[Row], unit: str, tuples: int, few: list[str]) -> list[Table]:
    losses, speeds = [], []
    numbers = list(rows[0]["loss"])[1:]
    for row in rows:
        loss = row["loss"]
        more = (f"{100 * (loss[number] / loss['1'] - 1):+.1f} %" for number in numbers)
        losses.append((row["algorithm"], f"{loss['1']:.4f}", *more))
        one, two = row["one"], row["two"]
        had = f"{one['busy']:.2f} and {two['busy']:.2f}"
        speeds.append((row["algorithm"], rate(one["rate"]), rate(two["rate"]), times(row["ratio"]), had))
    timed = f"{count(rows[0]['one']['tuples'])} tuples."
    note = f"By how much it is more than with one {unit}."
    header = ("algorithm", f"one {unit}, tuples/s", f"two {unit}s, tuples/s", "ratio", "cores had")
    simulated = [
        Table("Speed by lanes, by simulation", ("algorithm", *numbers),
              [(row["algorithm"], *(times(row["simulated"][number]) for number in numbers)) for row in rows],
              ["Tuples a second against one lane, as if each had a core of its own, by seconds of the processor. " + timed])
    ] if unit == "lane" else []  # fmt: skip
    return [
        Table(f"Loss by {unit}s, {tuples:,} tuples", ("algorithm", "loss of one", *numbers), losses, [note]),
        Table(f"Two {unit}s on two cores", header, speeds, [" ".join([timed, *few])]),
        *simulated,
    ]
