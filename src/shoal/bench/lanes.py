"""One stream in lanes: what splitting costs in loss, and what it buys in speed."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TypedDict

from shoal.bench.machine import several
from shoal.bench.session import Session, anonymize
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import Table, count, rate, times

COUNTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Row(TypedDict):
    algorithm: str
    loss: dict[str, float]  # by number of lanes
    suppressed: dict[str, int]
    one: Timing
    two: Timing
    ratio: float  # of tuples a second


class Lanes(TypedDict):
    rows: list[Row]
    tuples: int
    cores: int


def measure(session: Session) -> Lanes:
    s = session.settings
    short, long = session.stream(s.small), session.stream(s.threads)
    rows: list[Row] = []
    for contender in session.contenders:
        policies = {lanes: replace(session.policy(contender), lanes=lanes) for lanes in COUNTS}
        found = {}
        for i, (lanes, policy) in enumerate(policies.items()):
            session.step(f"{contender.label}, lanes: {lanes}", i, len(COUNTS))
            found[str(lanes)] = anonymize(policy, short)
        jobs = [
            Job(f"{contender.label}, lanes: {lanes}", partial(anonymize, policies[lanes], long), s.threads) for lanes in (1, 2)
        ]
        with several(session.cores):
            one, two = (timed.timing for timed in interleaved(jobs, s.rounds, session.step))
        rows.append({
            "algorithm": contender.label, "loss": {lanes: stats.loss for lanes, stats in found.items()},
            "suppressed": {lanes: stats.suppressed for lanes, stats in found.items()},
            "one": one, "two": two, "ratio": two["rate"] / one["rate"],
        })  # fmt: skip
    return {"rows": rows, "tuples": s.small, "cores": len(session.cores)}


def tables(result: Lanes) -> list[Table]:
    losses, speeds = [], []
    for row in result["rows"]:
        loss = row["loss"]
        more = (f"{100 * (loss[str(lanes)] / loss['1'] - 1):+.1f} %" for lanes in COUNTS[1:])
        losses.append((row["algorithm"], f"{loss['1']:.4f}", *more))
        one, two = row["one"], row["two"]
        had = f"{one['busy']:.2f} and {two['busy']:.2f}"
        speeds.append((row["algorithm"], rate(one["rate"]), rate(two["rate"]), times(row["ratio"]), had))
    header = ("algorithm", "loss of one", *map(str, COUNTS[1:]))
    few = ["This machine gives one core: the lanes take turns on it."] if result["cores"] < 2 else []
    tuples = f"{count(result['rows'][0]['one']['tuples'])} tuples."
    return [
        Table(f"Loss by lanes, {result['tuples']:,} tuples", header, losses, ["By how much it is more than with one lane."]),
        Table("Speed on two cores", ("algorithm", "one lane, tuples/s", "two lanes, tuples/s", "ratio", "cores had"),
              speeds, [" ".join([tuples, *few])]),
    ]  # fmt: skip
