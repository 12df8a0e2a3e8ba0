"""Algorithms on the same data with the same k and the same longest wait, over seeds and orders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import pyarrow as pa

from shoal import Policy
from shoal.algorithms import algorithm
from shoal.audit import Evidence, gather
from shoal.bench.comparison.measures import MEASURES, figures
from shoal.bench.comparison.statistics import holm, mean_and_half, paired
from shoal.bench.comparison.subject import Subject
from shoal.bench.machine import Machine, described, machine, one_core
from shoal.bench.sets import traced
from shoal.bench.workload import Variant
from shoal.datasets import ORDERS
from shoal.errors import InputError, PolicyError
from shoal.policy import needs_reuse_age
from shoal.provenance import Provenance, provenance

_STEPS = 24  # of the search for a time


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is compared."""

    subjects: Sequence[Subject]
    variants: Sequence[Variant]
    ks: Sequence[int] = (10, 50)
    waits: Sequence[float] = (1000,)  # the longest wait: arrivals, or seconds where the policy's window counts seconds
    nulls: Sequence[str] = ("blurred",)
    orders: Sequence[str] = ORDERS[:1]
    seeds: Sequence[int] = tuple(range(8))
    tuples: int = 6000
    against: str = ""  # the label of the variant that the others are compared with; by default the first

    @property
    def reference(self) -> str:
        labels = [variant.label for variant in self.variants]
        if self.against and self.against not in labels:
            raise InputError(f"against {self.against!r}: is not compared; possible are {', '.join(labels)}")
        return self.against or labels[0]

    def check(self) -> None:
        """Raise InputError if nothing could be compared."""
        for what, given in (("data", self.subjects), ("algorithm", self.variants), ("k", self.ks), ("wait", self.waits)):
            if not given:
                raise InputError(f"no {what} is given; name at least one")
        if self.tuples < max(self.ks):
            most = max(self.ks)
            raise InputError(f"tuples {self.tuples} are fewer than k {most}: no group could ever fill; use at least {most}")
        for k, wait in product(self.ks, self.waits):
            if any(not subject.is_timed for subject in self.subjects) and wait < k:
                raise InputError(f"wait {wait:g} is below k {k}: no group could ever fill; use at least {k}")
        for subject, order in product(self.subjects, self.orders):
            subject.repetition(0, order, 0)
        assert self.reference


class Cell(NamedTuple):
    """Settings under which algorithms are compared."""

    data: str
    order: str
    k: int
    wait: float
    nulls: str

    def __str__(self) -> str:
        order = "" if self.order == ORDERS[0] else f", {self.order}"
        return f"{self.data}{order}, k {self.k}, wait {self.wait:,g}, {self.nulls}"


class Obstacle(NamedTuple):
    """Why an algorithm was not run under some settings."""

    algorithm: str
    cell: Cell
    reason: str


Run = dict[str, Any]  # the settings and the measures of one run


@dataclass(frozen=True)
class Comparison:
    """All runs, and what they say."""

    runs: Sequence[Run]
    obstacles: Sequence[Obstacle]
    labels: Sequence[str]
    reference: str
    provenance: Provenance
    machine: Machine = field(repr=False)

    @cached_property
    def cells(self) -> list[Cell]:
        return list(dict.fromkeys(run["cell"] for run in self.runs))

    def values(self, label: str, measure: str, cells: Sequence[Cell] | None = None) -> dict[int, float] | None:
        """By seed, the mean over the cells; None if the algorithm or the measure is missing in one of them."""
        wanted = self.cells if cells is None else cells
        if measure == "accuracy" or measure == "accuracy_input":
            wanted = [cell for cell in wanted if self._has(cell, measure)]
        found = self._by_seed
        seeds = dict.fromkeys(run["seed"] for run in self.runs)
        values = {seed: [found.get((label, cell, seed), {}).get(measure) for cell in wanted] for seed in seeds}
        known = {seed: [each for each in row if each is not None] for seed, row in values.items()}
        if not wanted or any(len(row) < len(wanted) for row in known.values()):
            return None
        return {seed: math.fsum(row) / len(row) for seed, row in known.items()}

    @cached_property
    def _by_seed(self) -> dict[tuple[str, Cell, int], Run]:
        return {(run["algorithm"], run["cell"], run["seed"]): run for run in self.runs}

    def _has(self, cell: Cell, measure: str) -> bool:
        return any(run[measure] is not None for run in self.runs if run["cell"] == cell)

    def summary(self, measure: str, cells: Sequence[Cell] | None = None) -> dict[str, dict[str, float | None]]:
        """For each algorithm: the mean over cells and seeds, half its 95 % interval, and p against the reference (Holm)."""
        base = self.values(self.reference, measure, cells)
        found: dict[str, dict[str, float | None]] = {}
        tests: dict[str, float | None] = {}
        for label in self.labels:
            own = self.values(label, measure, cells)
            mean, half = mean_and_half(list(own.values())) if own else (None, None)
            found[label] = {"mean": mean, "half": half}
            if label != self.reference:
                tests[label] = paired([own[seed] - base[seed] for seed in own]) if own and base else None
        corrected = holm(tests)
        return {label: {**row, "p": corrected.get(label)} for label, row in found.items()}


def compare(plan: Plan, on_progress: Callable[[str, int, int], None] = lambda doing, done, total: None) -> Comparison:
    """Run every algorithm of the plan; the algorithms take turns, so that what disturbs the machine disturbs all alike."""
    plan.check()
    cells = [
        (subject, Cell(subject.name, order, k, wait, nulls))
        for subject, order, k, wait, nulls in product(plan.subjects, plan.orders, plan.ks, plan.waits, plan.nulls)
    ]
    runs: list[Run] = []
    obstacles: list[Obstacle] = []
    total, done = len(cells) * len(plan.seeds) * len(plan.variants), 0
    with one_core():
        found = machine()
        for subject, cell in cells:
            policies = dict(_policies(subject, cell, plan.variants, obstacles))
            for seed, variant in product(plan.seeds, plan.variants):
                on_progress(f"{cell}: {variant.label}", done, total)
                done += 1
                if variant.label in policies:
                    policy = policies[variant.label]
                    if seed == plan.seeds[0]:
                        traced(policy, subject.repetition(seed, cell.order, 2 * cell.k))  # compiles, or loads, the kernels
                    rows = subject.repetition(seed, cell.order, plan.tuples)
                    settings = {"algorithm": variant.label, "seed": seed, "cell": cell, **cell._asdict()}
                    runs.append({**settings, **_measured(policy, rows, subject.label, seed)})
    if not runs:
        raise InputError(f"nothing could be compared: {obstacles[0].algorithm}: {obstacles[0].reason}")
    digests = {name: each for subject in plan.subjects for name, each in subject.digests.items()}
    origin = provenance(described(found), plan.seeds, digests)
    return Comparison(runs, obstacles, [variant.label for variant in plan.variants], plan.reference, origin, found)


def _policies(
    subject: Subject, cell: Cell, variants: Sequence[Variant], obstacles: list[Obstacle]
) -> Iterator[tuple[str, Policy]]:
    for variant in variants:
        try:
            yield variant.label, fitted(subject, variant, cell.k, cell.wait, cell.nulls)
        except PolicyError as error:
            obstacles.append(Obstacle(variant.label, cell, error.problems[0]))


def fitted(subject: Subject, variant: Variant, k: int, wait: float, nulls: str) -> Policy:
    """The policy with the longest window under which the algorithm promises no longer wait.

    What an algorithm promises is its own `deadline`: the window, and whatever a tuple may wait besides it, such as X-BAND's
    pocket or a window that is stretched.
    """
    settings = {key: _share(value, wait) for key, value in variant.algorithm.items()}
    if subject.is_timed and needs_reuse_age(variant.name):
        settings.setdefault("reuse_age", wait)

    def policy(length: float) -> Policy:
        return subject.policy(k, length, nulls, settings)

    whole = not subject.is_timed
    longest = policy(int(wait) if whole else wait)
    if algorithm(longest).deadline <= wait:
        return longest
    if math.isinf(algorithm(longest).deadline):
        raise PolicyError([f"{variant.label} promises no longest wait under this window"])
    low, high = (k, int(wait)) if whole else (0.0, float(wait))
    best = None
    for _ in range(_STEPS):
        if high - low <= (1 if whole else wait / 2**20):
            break
        middle = (low + high) // 2 if whole else (low + high) / 2
        tried = policy(middle)
        if algorithm(tried).deadline <= wait:
            low, best = middle, tried
        else:
            high = middle
    if best is None and whole and algorithm(policy(k)).deadline <= wait:
        best = policy(k)
    if best is None:
        raise PolicyError([f"{variant.label} can promise no wait of {wait:g} with k {k}; allow a longer wait"])
    return best


def _share(value: Any, wait: float) -> Any:
    """A parameter that is written as a share of the longest wait, in its unit.

    >>> _share("50%", 1001), _share(4, 1000)
    (500, 4)
    """
    if isinstance(value, str) and value.endswith("%"):
        return int(float(value.removesuffix("%")) / 100 * wait)
    return value


def _measured(policy: Policy, rows: pa.Table, label: str | None, seed: int) -> Run:
    start = process_time()
    _, published, trace = traced(policy, rows)
    taken = process_time() - start
    evidence = gather(policy, rows, published, trace)
    assert isinstance(evidence, Evidence)
    found = figures(evidence, rows, label, seed)
    promised = algorithm(policy).deadline
    own = {"rate": rows.num_rows / taken if taken else None, "window": policy.window.length, "promised_wait": promised}
    return {**{name: None for name in MEASURES}, **found, **own, "tuples": rows.num_rows}
