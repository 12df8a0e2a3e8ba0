"""How fast each algorithm is, Arrow in to Arrow out in memory, on a short and on a long stream."""

from __future__ import annotations

from functools import partial
from typing import TypedDict

from shoal.bench import twins
from shoal.bench.adult import plain
from shoal.bench.session import Session, anonymize, passes
from shoal.bench.stopwatch import Job, Timing, interleaved
from shoal.bench.table import Table, count, percent, rate, times, whole

_IDLE = 0.95  # the share of a core that says that nothing else ran on it


class Row(TypedDict):
    algorithm: str
    small: Timing
    large: Timing
    growth: float  # the cost of a tuple of the long stream against one of the short stream
    loss: float
    groups: int
    reused: int
    suppressed: int
    twin: float | None  # how many times as long the naive twin takes for a tuple


class Speed(TypedDict):
    rows: list[Row]
    strings: Timing  # the first algorithm on the short stream with labels as plain strings
    absent: str | None


def measure(session: Session) -> Speed:
    s = session.settings
    small, large = session.stream(s.small), session.stream(s.large)
    strings = [plain(batch) for batch in small]
    jobs = []
    for contender in session.contenders:
        policy = session.policy(contender)
        for stream, tuples in ((small, s.small), (large, s.large)):
            label = f"{contender.label}, {count(tuples)} tuples"
            jobs.append(Job(label, partial(anonymize, policy, stream), tuples, passes(tuples)))
    first = partial(anonymize, session.policy(session.subject), strings)
    jobs.append(Job(f"{session.subject.label}, plain strings", first, s.small, passes(s.small)))
    *timed, last = interleaved(jobs, s.rounds, session.step)
    twin = session.results.get("twins") or twins.measure(session)
    ratios = {row["algorithm"]: row["ratio"] for row in twin["rows"]}
    rows: list[Row] = []
    for contender, short, long in zip(session.contenders, timed[::2], timed[1::2], strict=True):
        rows.append({
            "algorithm": contender.label,
            "small": short.timing,
            "large": long.timing,
            "growth": long.timing["ns"] / short.timing["ns"],
            "loss": long.result.loss,
            "groups": long.result.groups,
            "reused": long.result.reused,
            "suppressed": long.result.suppressed,
            "twin": ratios.get(contender.label),
        })  # fmt: skip
    return {"rows": rows, "strings": last.timing, "absent": twin["absent"]}


def tables(result: Speed) -> list[Table]:
    first = result["rows"][0]
    small, large = count(first["small"]["tuples"]), count(first["large"]["tuples"])
    header = (
        "algorithm", f"tuples/s of {small}", f"tuples/s of {large}", "ns a tuple", "spread", "growth",
        "loss", "twin",
    )  # fmt: skip
    rows = [
        (
            row["algorithm"], rate(row["small"]["rate"]), rate(row["large"]["rate"]), whole(row["large"]["ns"]),
            percent(row["large"]["spread"]), f"{row['growth']:.2f}", f"{row['loss']:.3f}", times(row["twin"]),
        )
        for row in result["rows"]
    ]  # fmt: skip
    notes = [
        f"Labels come as dictionaries, as from Parquet. As plain strings {first['algorithm']} takes "
        f"{whole(result['strings']['ns'])} ns a tuple on {small}, against {whole(first['small']['ns'])}.",
        "Growth: the cost of a tuple of the long stream against one of the short.",
        result["absent"] or "Twin: how many times as long the naive twin takes for the same few tuples.",
    ]
    if (busy := min(row["large"]["busy"] for row in result["rows"])) < _IDLE:
        notes.append(f"Other work took up to {percent(1 - busy)} of the core: repeat this on an idle machine.")
    return [Table("Speed in memory, Arrow in to Arrow out", header, rows, [" ".join(notes)])]
