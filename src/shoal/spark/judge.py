"""The audit as a job of Spark, for outputs that do not fit one machine: groups are judged where they lie."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from shoal.anonymizer import TRACE
from shoal.audit import (
    Finding,
    Verdict,
    Violation,
    Whole,
    WholeRows,
    check_parts,
    counted_as_persons,
    holds,
    judge_part,
    not_counted,
    together,
)
from shoal.policy import Policy
from shoal.spark.evidence import COPY, ORDER, SEEN, TIME, paired, traced_lines
from shoal.spark.given import given_policy
from shoal.spark.lane import ROW
from shoal.spark.types import column_at, hashable

ROWS = 500_000
"""About so many records make a part."""

_RUN, _CAME, _PART = "shoal_run", "shoal_came", "shoal_part"
_SHOWN = "shoal_shown_"
_NO_ROW = 2**52


@dataclass(frozen=True)
class JobReport:
    """What an audit on Spark found: the verdict on each promise, and the classes of whole rows."""

    policy: Policy
    promises: tuple[Finding, ...]
    rows: Mapping[str, int]
    """Of the input, accepted, in the output, suppressed."""

    whole: WholeRows
    """How many rows are below k with all that is published."""

    @property
    def held(self) -> bool:
        """Whether no promise was broken."""
        return all(finding.verdict != Verdict.BROKEN for finding in self.promises)

    def __getitem__(self, promise: str) -> Finding:
        """The finding on a promise."""
        return next(finding for finding in self.promises if finding.promise == promise)

    @property
    def headline(self) -> str:
        """The verdict in one sentence."""
        broken, unknown = (
            [finding.promise for finding in self.promises if finding.verdict == verdict]
            for verdict in (Verdict.BROKEN, Verdict.NOT_CHECKABLE)
        )
        parts = [f"broken: {', '.join(broken)}" if broken else holds(self.policy, self.whole)]
        parts += [f"not checkable: {', '.join(unknown)}"] if unknown else []
        parts += counted_as_persons(self.policy, self.promises)
        parts += not_counted(self.whole)
        return "; ".join(
            [*parts, "what an outsider can still do was not tried: shoal audit does that with all rows on one machine"]
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything in plain types; violations name lane and place of the trace instead of rows."""
        found = {"verdict": self.headline, "held": self.held, "rows": dict(self.rows), "whole_rows": asdict(self.whole)}
        return {**found, "promises": [finding.to_dict() for finding in self.promises]}


def audit(df: DataFrame, traced: DataFrame, policy: Policy | Mapping[str, Any] | str | PathLike[str]) -> JobReport:
    """Judge whether the promises of a policy held, by the code of `shoal audit`, without bringing the rows to one machine.

    Parameters
    ----------
    df
        All records that the query has read, as a batch DataFrame.
    traced
        All that left, with the column `shoal_trace`, of `anonymize(…, trace=True)`. Give what was written.
    policy
        A policy, its YAML text, or the mapping or the path of one.

    Raises
    ------
    PolicyError, InputError
        The policy cannot be judged in parts, or there is no trace.
    """
    policy = given_policy(policy)
    check_parts(policy)
    shown = [name for name in traced.columns if name != TRACE]
    left = traced_lines(traced, *(F.col(f"`{name}`").alias(f"{_SHOWN}{i}") for i, name in enumerate(shown)))
    both, columns = paired(df, left, policy)
    both = both.persist(StorageLevel.DISK_ONLY)
    try:
        whole, stream = _whole(both, policy)
        came = F.lit(None).cast("double") if policy.window.timed else _numbered(both, whole.accepted)
        parts = max(1, math.ceil(max(df.count(), traced.count()) / ROWS))
        alone, group = (F.pmod(F.xxhash64(*names), F.lit(parts)) for names in ((ROW, COPY), ("cluster",)))
        part = F.when(F.col("cluster").isNull(), alone).otherwise(group)
        lines = both.select("*", _run().alias(_RUN), came.alias(_CAME), part.alias(_PART))
        judged = _PartStep(policy, columns, shown, whole, stream)
        found = lines.groupBy(_PART).applyInArrow(lambda table: judged(table), "part bigint, findings string")
        texts = [row.findings for row in found.orderBy("part").collect()]
        if not texts:
            texts = judged(lines.limit(0).toArrow()).column("findings").to_pylist()
        promises = together([_findings(text) for text in texts])
        suppressed = both.where("how = 'suppressed'").count()
        once = next(finding for finding in promises if finding.promise == "once").figures
        rows = {
            "input": once["accepted"] + once["rejected"], "accepted": once["accepted"], "output": once["released"],
            "suppressed": suppressed,
        }  # fmt: skip
        return JobReport(policy, promises, rows, _whole_rows(both, shown, policy))
    finally:
        both.unpersist()


class _PartStep:
    """Judges a part."""

    def __init__(
        self, policy: Policy, columns: list[tuple[str, str]], shown: list[str], whole: Whole, stream: _Stream
    ) -> None:  # fmt: skip
        self._policy, self._columns, self._shown, self._whole, self._stream = policy, columns, shown, whole, stream

    def __call__(self, part: pa.Table) -> pa.Table:
        part = part.combine_chunks()
        records = part.filter(pc.field(SEEN).is_valid())
        arrival = [
            ("arrived", "ascending"),
            (TIME, "descending"),
            ("lane", "ascending"),
            (ROW, "ascending"),
            (COPY, "ascending"),
        ]
        records = records.take(pc.sort_indices(records, arrival, null_placement="at_end"))
        place = {pair: i for i, pair in enumerate(_pairs(records))}
        lines = part.filter(pc.field("how").is_valid()).sort_by([(name, "ascending") for name in ORDER])
        row = [place.get(pair, _NO_ROW) for pair in _pairs(lines)]
        trace = pa.table(
            {"row": pa.array(row, pa.int64()), **{name: lines[name] for name in ("how", "cluster", "arrived", "released")}}
        )
        left = lines.filter(pc.field("how") != "suppressed") if self._policy.suppressed == "drop" else lines
        input = pa.table({name: records[column] for column, name in self._columns})
        output = pa.table({name: left[f"{_SHOWN}{i}"] for i, name in enumerate(self._shown)})
        run = lines[_RUN].to_numpy().astype(np.float64)
        found = judge_part(self._policy, input, output, trace, self._came(records), run, self._whole)
        places = list(zip(left["lane"].to_pylist(), left["place"].to_pylist(), strict=True))
        number = part[_PART][0].as_py() if len(part) else 0
        text = json.dumps([asdict(_with_places(each, places)) for each in found], default=float)
        return pa.table({"part": pa.array([number], pa.int64()), "findings": [text]})

    def _came(self, records: pa.Table) -> NDArray[np.float64]:
        """When each record came by the clock of the stream; what never left came last."""
        found: NDArray[np.float64]
        if not self._policy.window.timed:
            found = records[_CAME].fill_null(self._whole.accepted).to_numpy().astype(np.float64)
            return found
        last = self._stream.clock[-1] if len(self._stream.clock) else 0.0
        arrived = records["arrived"].fill_null(math.inf).to_numpy()
        found = np.append(self._stream.clock, last)[np.searchsorted(self._stream.arrived, arrived)]
        return found


class _Stream(NamedTuple):
    """Under a window of time: the moments at which records arrived, and what the clock of the stream said then."""

    arrived: NDArray[np.float64]
    clock: NDArray[np.float64]


def _whole(both: DataFrame, policy: Policy) -> tuple[Whole, _Stream]:
    came = both.where(F.col(SEEN) & F.col("arrived").isNotNull())
    if policy.window.timed:
        moments = came.groupBy("arrived").agg(F.max(TIME).alias("newest")).orderBy("arrived").collect()
        arrived = np.array([row.arrived for row in moments], np.float64)
        clock = np.maximum.accumulate(np.array([row.newest for row in moments], np.float64))
        released = np.array([row.released for row in both.select("released").distinct().collect()], np.float64)
        every = np.unique(np.concatenate([arrived, clock, released]))
        return Whole(0, every[~np.isnan(every)]), _Stream(arrived, clock)
    accepted = came.count()
    after = both.where(F.col("released") >= accepted - 1).select("released").distinct().collect()
    moments = np.sort(np.array([row.released for row in after], np.float64))
    return Whole(accepted, moments), _Stream(np.zeros(0), np.zeros(0))


def _numbered(both: DataFrame, accepted: int) -> Column:
    """The number of each record by arrival, as the input has it: what the trace says, if it gives each number once."""
    seen = F.when(F.col(SEEN), F.col("arrived"))
    few = both.agg(F.min(seen), F.max(seen), F.countDistinct(seen)).first()
    if few is None or tuple(few) in ((0, accepted - 1, accepted), (None, None, 0)):
        return F.col("arrived")
    order = Window.partitionBy(SEEN).orderBy(F.col("arrived").asc_nulls_last(), F.desc(TIME), "lane", ROW, COPY)
    return F.row_number().over(order).cast("double") - 1


def _run() -> Column:
    """A number for what left of a group at once: members whose lines follow each other, of one moment; else one line."""
    lane = F.coalesce("lane", F.pmod(ROW, F.lit(1000)) - 1000)  # what never left is spread
    order = Window.partitionBy(lane).orderBy("released", "place")
    same = [F.col(name) == F.lag(name).over(order) for name in ("how", "cluster", "released")]
    goes_on = F.coalesce((F.col("how") == "cluster") & same[0] & same[1] & same[2], F.lit(False))
    return F.sum((~goes_on).cast("int")).over(order.rowsBetween(Window.unboundedPreceding, Window.currentRow))


def _whole_rows(both: DataFrame, shown: list[str], policy: Policy) -> WholeRows:
    """The classes of rows that are alike in all that is published, counted in persons."""
    kept = [name for name in policy.counted if name in shown]
    time = [policy.time.field] if policy.time and policy.time_grid is not None and policy.time.field in shown else []
    fields = [*(name for name, _ in policy.quasi if name in shown), *time, *kept]
    hidden = F.col("how") == "suppressed"
    rows = both.where("how IS NOT NULL") if policy.suppressed == "publish" and kept else both.where(~hidden)
    own = F.concat_ws(" ", F.lit("one of its own"), ROW, COPY)
    person = own
    if policy.person is not None:
        text = column_at(both, policy.person).cast("string")
        person = F.when(text.isNull() | text.isin([*policy.nulls_of(policy.person)]), own).otherwise(text)
    alike = rows.groupBy(hidden, *(hashable(both, f"{_SHOWN}{shown.index(name)}") for name in fields))
    size = alike.agg(F.count("*").alias("rows"), F.countDistinct(person).alias("persons"))
    below, alone = F.col("persons") < policy.privacy.k, F.col("persons") == 1
    counts = [F.coalesce(F.sum(F.when(which, F.col("rows"))), F.lit(0)) for which in (F.lit(True), below, alone)]
    found = size.agg(*counts, F.coalesce(F.min("persons"), F.lit(0))).first()
    reasons = {name: reason for name, reason in policy.reasons.items() if reason}
    return WholeRows((*time, *kept), reasons, *(found or (0, 0, 0, 0)))


def _pairs(table: pa.Table) -> list[tuple[int, int]]:
    return list(zip(table[ROW].to_pylist(), table[COPY].to_pylist(), strict=True))


def _with_places(found: Finding, places: list[tuple[int, int]]) -> Finding:
    """Violations that name lane and place of the trace: rows of a part mean nothing outside."""
    moved = []
    for each in found.violations:
        where = "" if each.output_row is None else " (shoal_trace: lane {}, place {})".format(*places[each.output_row])
        moved.append(replace(each, what=f"{each.what}{where}", output_row=None, input_row=None))
    return replace(found, violations=tuple(moved))


def _findings(text: str) -> list[Finding]:
    found: list[dict[str, Any]] = json.loads(text)
    for each in found:
        each["verdict"] = Verdict(each["verdict"])
        each["violations"] = tuple(Violation(**one) for one in each["violations"])
    return [Finding(**each) for each in found]
