"""FAST: figures 3 to 8."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.experiments.claim import Claim, always, below, close, listed, rising, span
from shoal.experiments.figure import Figure, Panel
from shoal.experiments.paper import Findings, Job, Paper, Results, Scale
from shoal.experiments.runs import stream_job

K, QUASI, ROUND, REUSE, ROUNDS = 5, 10, 30, 20, 5
DEADLINE = ROUNDS * ROUND
WORKERS = (1, 2, 3, 4, 5)
AXES: dict[str, tuple[str, Sequence[int]]] = {
    "tuples": ("tuples", (5000, 10_000, 15_000, 20_000, 25_000, 33_178)),
    "k": ("k", (3, 5, 10, 15, 20)),
    "quasi": ("quasi-identifiers", (2, 4, 6, 8, 10)),
    "round": ("δ", (10, 20, 30, 60, 120)),
    "deadline": ("T_e", (60, 90, 150, 300, 600)),
}
LABELS = ("FADS", "FAST")


def _job(scale: Scale, label: str, varied: Mapping[str, int], workers: int = 1, extras: Sequence[str] = ("cost",)) -> Job:
    chosen: dict[str, Any] = {
        "tuples": scale.size(None),
        "k": K,
        "quasi": QUASI,
        "round": ROUND,
        "deadline": DEADLINE,
        **varied,
    }
    size = chosen["round"]
    algorithm: dict[str, Any] = {"name": "fads", "reuse_age": REUSE * size}
    window = size
    if label == "FAST":
        window = chosen["deadline"] or ROUNDS * size
        algorithm |= {"name": "fast", "round": size, "deadline": window, "workers": workers}
    return stream_job(
        "Adult (FAST)", algorithm, chosen["k"], {"count": window}, tuples=chosen["tuples"],
        quasi=None if chosen["quasi"] == QUASI else chosen["quasi"], extras=extras, passes=scale.passes,
    )  # fmt: skip


def _detailed(scale: Scale, label: str, workers: int = 1) -> Job:
    return _job(scale, label, {}, workers, ("cost", "reusable", "rounds"))


def _swept(scale: Scale) -> dict[str, list[int]]:
    return {axis: scale.sizes(values) if axis == "tuples" else scale.sweep(values) for axis, (_, values) in AXES.items()}


def _jobs(scale: Scale) -> list[Job]:
    jobs = [_job(scale, label, {axis: x}) for axis, xs in _swept(scale).items() for x in xs for label in LABELS]
    return [*jobs, _detailed(scale, "FADS"), *(_detailed(scale, "FAST", workers) for workers in WORKERS)]


def _findings(scale: Scale, results: Results) -> Findings:
    shown = {"FADS": _detailed(scale, "FADS")}
    shown |= {f"FAST, {each} thread{'s' if each > 1 else ''}": _detailed(scale, "FAST", each) for each in WORKERS}
    sizes, published = {}, {}
    for label, job in shown.items():
        found = results[job]["reusable"]
        sizes[label] = ([i * found["every"] for i in range(len(found["sizes"]))], found["sizes"])
        published[label] = (list(range(len(found["published"]))), found["published"])
    seconds = results.curve({each: _detailed(scale, "FAST", each) for each in WORKERS}, "elapsed")
    rounds = results[shown["FADS"]]["rounds"]
    by_size = Panel("tuples by size of Set_kc", "clusters in Set_kc", "tuples", published, bare=True)
    threads = Panel("FAST", "threads", "seconds by the clock", {"FAST": seconds})
    losses, costs = _panels(scale, results, "average loss", "loss"), _panels(scale, results, "average cost", "cost")
    by_rounds = Panel("FADS", "rounds", "tuples", {"FADS": (list(range(len(rounds))), rounds)})
    reusable = [Panel("size of Set_kc", "tuples read", "clusters", sizes, bare=True)]
    cores = f"On {os.cpu_count()} cores."
    figures = [
        Figure("figure-3", "Information loss", losses, columns=3),
        Figure("figure-4", "Clusters in the reuse set over time", reusable),
        Figure("figure-5", "Tuples published at each size of the reuse set", [by_size]),
        Figure("figure-6", "Execution time by number of threads", [threads], note=cores),
        Figure("figure-7", "Cost: loss · (1 + 0.02)^(time waited)", costs, columns=3),
        Figure("figure-8", "Rounds that tuples take part in, FADS", [by_rounds]),
    ]
    return Findings(figures, _claims(scale, results, list(seconds[1])))


def _panels(scale: Scale, results: Results, y: str, name: str) -> list[Panel]:
    panels = []
    for axis, xs in _swept(scale).items():
        curves = {label: results.curve({x: _job(scale, label, {axis: x}) for x in xs}, name) for label in LABELS}
        panels.append(Panel(f"varying {AXES[axis][0]}", AXES[axis][0], y, curves))
    return panels


def _claims(scale: Scale, results: Results, seconds: Sequence[float]) -> list[Claim]:
    claims = []
    cells = [(axis, x) for axis, xs in _swept(scale).items() for x in xs]
    for where, name, said in (
        ("fig. 3", "loss", "FAST loses less information than FADS"),
        ("fig. 7", "cost", "FAST costs less than FADS"),
    ):
        fads, fast = (results.values((_job(scale, label, {axis: x}) for axis, x in cells), name) for label in LABELS)
        shown = f"FADS {span(fads)}, FAST with one thread {span(fast)}"
        claims.append(always(f"5, {where}", said, below(fast, fads), shown))
    default = {label: results[_detailed(scale, label)] for label in LABELS}
    waits = "; ".join(
        f"{label} suppresses {found['suppressed'] / found['tuples']:.1%}, waits {found['wait']:.0f} arrivals on average, "
        f"{found['longest']:.0f} at most"
        for label, found in default.items()
    )
    in_time = [default["FAST"]["longest"] <= DEADLINE]
    largest = [results[_detailed(scale, "FAST", workers)]["reusable"]["largest"] for workers in WORKERS]
    alone = default["FADS"]["reusable"]["largest"]
    more = "the reuse set of FAST has more clusters than that of FADS"
    shown = f"at most {largest[0]:,} with one thread, {alone:,} in FADS"
    grows, falls = "the largest reuse set grows with the number of threads", "the time falls as the number of threads grows"
    timed = f"{listed(seconds)} s on {os.cpu_count()} cores"
    rounds = default["FADS"]["rounds"]
    share = sum(rounds[11:]) / sum(rounds)
    long = "29 % of the tuples take part in more than 10 rounds of FADS"
    return [
        *claims,
        always("4.2", "no tuple of FAST leaves after its expiration", in_time, waits),
        always("5, fig. 3 and 4", more, [largest[0] > alone], shown),
        rising("5, fig. 4", grows, largest, listed(largest, ",")),
        rising("5, fig. 6", falls, [-each for each in seconds], timed),
        close("5, fig. 8", long, 100 * share, 29, 3, f"{share:.1%}"),
    ]


PAPER = Paper(
    name="fast",
    title="FAST",
    reference=("E. Mohammadian, M. Noferesti, R. Jalili, *FAST: Fast Anonymization of Big Data Streams*, BigDataScience 2014"),
    setting=(
        "UCI Adult with 10 columns; a tenth of the 30,162 rows comes twice, 33,178 in all. k 5, δ 30, T_kc 20 rounds, α "
        "0.02, unless varied."
    ),
    notes=(
        "The figures' axes are not in the text; what it names is varied: data size, k, quasi-identifiers, δ, T_e.",
        "T_e has no value in the paper; five rounds, 150 tuples, are used. FADS has δ for its deadline.",
        "Time is counted in arrivals, also in the cost: with another unit the factor (1 + α)^t is another.",
        "The second tuple of a person comes anywhere after the first.",
        "With several threads, a run is not repeatable: figures 4 to 6 are of one run, and another run differs a little.",
    ),
    sources=("Adult (FAST)",),
    jobs=_jobs,
    findings=_findings,
)
