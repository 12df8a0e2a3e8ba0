"""Other readings of the papers: the claims that do not hold, judged again where a paper can be read in another way.

A reading changes the settings of every job of a paper. The paper's own findings judge the new outcomes by the same rules, so
that a claim has one verdict under each reading. Times are left out: they are those of our machine under any reading.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from shoal import InputError
from shoal.datasets import known_files
from shoal.experiments import idea, kvarp, xband
from shoal.experiments.claim import FAILS, HOLDS, VERDICTS, Claim
from shoal.experiments.paper import Job, Paper, Results, Scale
from shoal.experiments.pool import OnProgress, run_all
from shoal.experiments.report import SOURCE, machine
from shoal.experiments.runs import SEED
from shoal.provenance import digests, provenance

READ = (kvarp.PAPER, idea.PAPER, xband.PAPER)
SCALE = Scale("readings", tuples=5000, points=3, passes=1)
_SLOWER = 2  # X-BAND has half of the tuples, and two points: its FADS with a weighted distance is plain numpy
_OF_TIME = ("time", "s on average")
_KEPT = "runs"

Settings = dict[str, Any]


class Reading(NamedTuple):
    """`change` alters the settings of a job."""

    name: str
    meaning: str
    change: Callable[[Settings], Settings]


def _milliseconds(settings: Settings) -> Settings:
    """Twice as many tuples: one comes each 500 µs."""
    window = settings["window"]
    longer = {kind: 2 * length for kind, length in window.items()} if isinstance(window, dict) else 2 * window
    found = {**settings, "window": longer}
    if "reuse_age" in settings:
        found["reuse_age"] *= 2
    elif "reuse_age" in settings["algorithm"]:
        found["algorithm"] = {**settings["algorithm"], "reuse_age": 2 * settings["algorithm"]["reuse_age"]}
    return found


def _each_waits(settings: Settings) -> Settings:
    """IDEA releases the oldest of δ tuples (`buffer`); here each tuple waits for δ arrivals."""
    window = settings["window"]
    return {**settings, "window": {"count": window["buffer"]}} if isinstance(window, dict) and "buffer" in window else settings


def _with(**more: Any) -> Callable[[Settings], Settings]:
    return lambda settings: {**settings, "reading": more}


READINGS: Sequence[Reading] = (
    Reading("as in the report", "the reading of the report, on fewer tuples", lambda settings: settings),
    Reading("milliseconds", "δ and ω are milliseconds, and a tuple comes each 500 µs: twice as many tuples", _milliseconds),
    Reading("each waits δ", "a tuple of IDEA leaves δ arrivals later (`count`), not as the oldest of δ tuples", _each_waits),
    Reading("flat trees", "every hierarchy is a root with its leaves", _with(trees="flat")),
    Reading("deep trees", "every hierarchy is a binary tree over its leaves in the order of the file", _with(trees="binary")),
    Reading("nulls in numbers", "only numbers are taken away", _with(lost="numbers")),
    Reading("nulls in categories", "only categories are taken away", _with(lost="categories")),
    Reading("other nulls", "other values are taken away: another seed", _with(seed=1)),
    Reading("shuffled", "the rows come in a random order", _with(shuffled=True)),
    Reading("missing is lost", "a missing value counts as a loss of 1 in its tuple", _with(missing_is_lost=True)),
)


@dataclass(frozen=True)
class Disputed:
    """A claim that does not hold in the reading of the report, with its verdict and figures under each reading."""

    paper: Paper
    claim: Claim
    under: Mapping[str, Claim]

    @property
    def kept_by(self) -> list[str]:
        """The readings under which it holds."""
        return [name for name, claim in self.under.items() if claim.verdict == HOLDS]


def disputed(
    data: Path, kept: Path, *, scale: Scale = SCALE, workers: int | None = None, on_progress: OnProgress = lambda *_: None
) -> list[Disputed]:
    """The claims on other things than time that do not hold as in the report, or under another reading."""
    found = []
    for paper in READ:
        own_scale = replace(scale, tuples=(scale.tuples or 0) // _SLOWER, points=2) if paper is xband.PAPER else scale
        jobs = list(paper.jobs(own_scale))
        changed = {reading.name: {job: _changed(job, reading) for job in jobs} for reading in READINGS}
        wanted = [job for own in changed.values() for job in own.values()]
        outcomes = run_all(wanted, data, kept, workers, on_progress)
        judged = {
            name: paper.findings(own_scale, Results({job: outcomes[other] for job, other in own.items()})).claims
            for name, own in changed.items()
        }
        for place, claim in enumerate(judged[READINGS[0].name]):
            under = {name: claims[place] for name, claims in judged.items()}
            if not _of_time(claim) and any(each.verdict == FAILS for each in under.values()):
                found.append(Disputed(paper, claim, under))
    return found


def write(
    out: Path, data: Path, *, workers: int | None = None, on_progress: OnProgress = lambda *_: None, scale: Scale = SCALE
) -> Path:
    """Run all readings, and write readings.md into a folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        found = disputed(data, out / _KEPT, scale=scale, workers=workers, on_progress=on_progress)
        path = out / "readings.md"
        made = provenance(machine(), [SEED, SEED + 1], digests(known_files(data)))
        path.write_text(f"{markdown(found, scale)}\n## {SOURCE}\n\n{made.markdown()}\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"{out}: cannot be written ({(error.strerror or 'no access').lower()})") from None
    return path


def markdown(found: Sequence[Disputed], scale: Scale) -> str:
    """A table of verdicts with a column per reading, and the figures behind them."""
    names = [reading.name for reading in READINGS]
    marks = dict(zip(VERDICTS, ("yes", "partly", "no"), strict=True))
    opening = (
        f"Written by `shoal reproduce readings`: at most {scale.tuples:,} tuples, and {scale.points} points of each sweep "
        f"({(scale.tuples or 0) // _SLOWER:,} and 2 for X-BAND). The "
        "first column is the reading of the [report](report.md) on these tuples, and can differ from it. A claim is listed if "
        "it does not hold under one of the readings. The rules are those of the report. Claims about time are left out. Each "
        "column changes one thing."
    )
    table = [f"| paper | the claim | {' | '.join(names)} |", "|" + "---|" * (2 + len(names))]
    for each in found:
        verdicts = " | ".join(marks[each.under[name].verdict] for name in names)
        table.append(f"| {each.paper.title} | {each.claim.said} ({each.claim.where}) | {verdicts} |")
    sections = []
    for each in found:
        lines = [f"| {name} | {claim.verdict} | {claim.measured} |" for name, claim in each.under.items()]
        title = f"### {each.paper.title}: {each.claim.said}"
        sections += [title, "\n".join(["| reading | verdict | measured |", "|---|---|---|", *lines])]
    meanings = "\n".join(f"- *{reading.name}*: {reading.meaning}." for reading in READINGS)
    return "\n\n".join(["# Other readings", opening, meanings, "\n".join(table), "## Figures", *sections]) + "\n"


def _changed(job: Job, reading: Reading) -> Job:
    return Job.of(job.kind, **reading.change(job.settings))


def _of_time(claim: Claim) -> bool:
    return any(word in claim.said for word in _OF_TIME)
