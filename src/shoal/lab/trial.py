"""A trial of a policy on a sample: its loss, and its audit."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.algorithms import algorithm
from shoal.anonymizer import Anonymizer, FilterStats, Stats
from shoal.audit import (
    Evidence,
    Exposure,
    Observed,
    Progress,
    Report,
    WindowReport,
    beats_chance,
    distributions,
    gather,
    judge,
    losses,
    pseudonym_bound,
)
from shoal.errors import InputError
from shoal.lab.sample import Sample
from shoal.policy import Policy
from shoal.telemetry import cell

SHOWN = 12
_BARS = 20
_SECRET = bytes(16)  # of pseudonyms; only the user sees them, who has the sample anyway


@dataclass(frozen=True, eq=False)
class Trial:
    """One run over the whole sample."""

    policy: Policy
    sample: Sample
    published: pa.Table
    trace: pa.Table
    bags: pa.Table | None  # the second output, of a policy with `as: bag`
    stats: Stats | FilterStats
    seconds: float

    @classmethod
    def run(cls, policy: Policy, sample: Sample) -> Trial:
        """Anonymize the sample by the policy. Raises InputError if the sample has none of the fields that the policy needs."""
        start = perf_counter()
        anonymizer = Anonymizer(policy, _SECRET if policy.is_filter else None)
        published, trace, bags = [anonymizer.push_batch(sample.batch)], [anonymizer.trace], [anonymizer.bags]
        published.append(anonymizer.flush())
        trace.append(anonymizer.trace)
        bags.append(anonymizer.bags)
        seconds = perf_counter() - start
        second = _table(bags) if not policy.is_filter and policy.bags else None
        return cls(policy, sample, _table(published), _table(trace), second, anonymizer.stats, seconds)

    @cached_property
    def _evidence(self) -> Evidence | Observed:
        return gather(self.policy, pa.Table.from_batches([self.sample.batch]), self.published, self.trace, bags=self.bags)

    def judged(self, on_progress: Callable[[Progress], None] = lambda progress: None) -> Report:
        """The audit of the trial."""
        return judge(self._evidence, on_progress)

    def figures(self) -> dict[str, Any]:
        """The figures, in types of JSON."""
        stats = self.stats
        common = {
            "algorithm": self.policy.algorithm.name,
            "seconds": self.seconds,
            "received": stats.received,
            "rejected": stats.rejected,
            "reasons": dict(stats.reasons),
            "released": stats.released,
            "rows": self.pairs(),
        }
        return {**common, **(self._filtered(stats) if isinstance(stats, FilterStats) else self._windowed(stats))}

    def pairs(self, shown: int = SHOWN) -> dict[str, Any]:
        """Some rows before and after, evenly spaced among those that left."""
        trace = self.trace
        if self.policy.suppressed == "drop" and not self.policy.is_filter:
            trace = trace.filter(pc.not_equal(trace.column("how").cast(pa.string()), "suppressed"))
        count = self.published.num_rows if trace.num_rows == self.published.num_rows else 0
        chosen = [(2 * i + 1) * count // (2 * shown) for i in range(shown)] if count > shown else list(range(count))
        rows = trace.column("row").take(pa.array(chosen, pa.int64())).to_pylist() if chosen else []
        after = self.published.take(pa.array(chosen, pa.int64())) if chosen else self.published.slice(0, 0)
        columns = [*self.published.schema.names]
        hidden = [name for name in (self.policy.person, self.policy.time and self.policy.time.field) if name]
        names = [*(name for name in hidden if name not in columns), *columns]
        texts = {name: [cell(value) for value in after.column(name).to_pylist()] for name in columns}
        return {
            "columns": names,
            "before": self.sample.values(names, rows),
            "after": [[texts[name][n] if name in texts else "" for name in names] for n in range(len(chosen))],
            "gone": [name for name in names if name not in columns],
            "bags": [] if self.policy.is_filter else list(self.policy.bags),
        }

    def _windowed(self, stats: Stats) -> dict[str, Any]:
        evidence = self._evidence
        assert isinstance(evidence, Evidence)
        waits = self.waits
        longest = algorithm(self.policy).deadline
        return {
            "kind": "window",
            "k": self.policy.privacy.k,
            "loss": stats.loss,
            "attributes": _losses(losses(evidence)[1]),
            "published": len(self.published.schema.names),
            "fields": len(self.sample.batch.schema.names),
            "distributions": {name: asdict(each) for name, each in distributions(evidence).items()},
            "suppressed": stats.suppressed,
            "reused": stats.reused,
            "groups": stats.groups,
            "smallest": stats.smallest_group,
            "unit": "s" if self.policy.window.timed else "arrivals",
            "deadline": None if math.isinf(longest) else longest,
            "longest": stats.longest_wait,
            "wait": float(waits.mean()) if len(waits) else None,
            "waits": _bars(waits, longest),
        }

    def _filtered(self, stats: FilterStats) -> dict[str, Any]:
        return {"kind": "filter", "z": stats.z, "generalized": stats.generalized, "withheld": stats.withheld}

    @property
    def waits(self) -> NDArray[np.float64]:
        """How long each tuple waited, on the window's clock."""
        ends = (self.trace.column(name).to_numpy().astype(np.float64) for name in ("released", "arrived"))
        left, came = ends
        return np.maximum(left - came, 0.0)


def risks(report: Report) -> dict[str, Any]:
    """The audit: its verdict, each promise, and each attack with its success, by chance, and what is not worse."""
    attacks = _exposed(report) if isinstance(report, WindowReport) else _attacked(report)
    promises = [{"name": each.promise, "says": each.says, "verdict": str(each.verdict)} for each in report.promises]
    verdict = asdict(report.headline)
    return {"held": report.held, "verdict": verdict, "promises": promises, "attacks": attacks, "point": point(report)}


def _exposed(report: WindowReport) -> list[dict[str, Any]]:
    """The attacks as the audit judges them, the worst first."""
    knows = {each.name: each.knows for each in report.figures.attacks} | {"below k": "all that is published, and nothing else"}
    return [
        {
            "name": each.label, "kind": each.kind, "knows": next(knows[name] for name in _names(each) if name in knows),
            "tried": each.tried, "success": each.success, "baseline": each.chance, "bound": each.bound,
            "detail": each.detail, "obstacle": each.obstacle, "alert": each.is_worse,
        }
        for each in report.exposures
    ]  # fmt: skip


def _names(each: Exposure) -> tuple[str, ...]:
    """How an attack may be called in the figures."""
    return (each.name, f"{each.name} of {each.of}", f"{each.name}: {each.of}")


def _attacked(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name, "kind": "", "knows": each.knows, "tried": each.tried, "success": each.success,
            "baseline": each.baseline, "bound": pseudonym_bound(each), "detail": each.detail, "obstacle": each.obstacle,
            "alert": beats_chance(each),
        }
        for each in report.figures.attacks  # type: ignore[attr-defined]
    ]  # fmt: skip


def point(report: Report) -> dict[str, Any] | None:
    """A trial as a dot: what each attack gains, and what is lost; None for z-anonymity.

    An attack that infers a value gains what it is right more often than by chance. One that singles out or links gains all of
    its success: without the output it finds nobody, and its chance in the audit, that of an attacker who knows less, falls with
    k as well. `queries` is the median error of counts with conditions on two attributes; None if there is only one.
    """
    if not isinstance(report, WindowReport):
        return None
    attacks = [
        {
            "name": each.label, "success": each.success, "chance": each.chance,
            "gain": max(0.0, each.excess) if each.kind == "inferring" else each.success,
        }
        for each in report.exposures
        if each.success is not None and each.chance is not None
    ]  # fmt: skip
    utility = report.figures.utility
    return {
        "attacks": attacks,
        "loss": utility.loss.mean,
        "queries": utility.answers.pair_median if utility.answers.pairs else None,
        "suppressed": utility.suppressed,
        "quasi": len(report.policy.quasi),
        "colour": report.headline.colour,
    }


def returning(report: Report) -> dict[str, dict[str, Any]]:
    """By attribute, the attack on the values of persons who come back."""
    assert isinstance(report, WindowReport)
    return {
        each.of: {"success": each.success, "chance": each.chance, "tried": each.tried, "obstacle": each.obstacle}
        for each in report.exposures
        if each.name == "values across releases"
    }


def _losses(found: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"name": name, "loss": None if math.isnan(loss) else loss} for name, loss in found.items()]


def _bars(waits: NDArray[np.float64], longest: float) -> dict[str, list[float]]:
    top = longest if math.isfinite(longest) else float(waits.max(initial=1.0))
    counts, edges = np.histogram(np.minimum(waits, top), _BARS, (0.0, max(top, 1e-9)))
    return {"edges": edges[1:].tolist(), "counts": counts.tolist()}


def _table(batches: list[pa.RecordBatch]) -> pa.Table:
    try:
        return pa.Table.from_batches(batches)
    except pa.ArrowException:
        raise InputError("the sample: a kept value changes its type on the way; leave its field out") from None
