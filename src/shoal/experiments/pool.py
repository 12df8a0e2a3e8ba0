"""Independent jobs on all cores. Outcomes are kept, so that an interrupted run goes on."""

from __future__ import annotations

import hashlib
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pyarrow as pa

import shoal
from shoal import InputError
from shoal.experiments.fads import run_fads
from shoal.experiments.figure import Figure
from shoal.experiments.paper import Job, Outcome, Results
from shoal.experiments.probability import run_model, run_simulation
from shoal.experiments.runs import run_stream

KINDS: Mapping[str, Callable[[Path, Mapping[str, Any]], Outcome]] = {
    "stream": run_stream, "fads": run_fads, "model": run_model, "simulation": run_simulation,
}  # fmt: skip
_UNRELATED = ("cli", "bench", "audit", "infer", "demo")  # parts of the code that change no number
_COMPUTING = ("streams.py", "runs.py", "fads.py", "probability.py")  # files of this part that make numbers

OnProgress = Callable[[str, int, int], None]


def run_all(
    jobs: Sequence[Job], data: Path, kept: Path, workers: int | None = None, on_progress: OnProgress = lambda *_: None
) -> Results:
    """Run the jobs whose outcomes are not kept yet: in this process if there is one worker, or if a job has several threads."""
    wanted = list(dict.fromkeys(jobs))
    basis = _basis(data)
    kept.mkdir(parents=True, exist_ok=True)
    outcomes: dict[Job, Outcome] = {}
    for job in wanted:
        if (found := _load(kept / f"{job.key(basis)}.json")) is not None:
            outcomes[job] = found
    waiting = sorted((job for job in wanted if job not in outcomes), key=lambda job: (job.kind, job.text))
    on_progress("running", len(outcomes), len(wanted))

    def done(job: Job, outcome: Outcome) -> None:
        outcomes[job] = outcome
        _save(kept / f"{job.key(basis)}.json", outcome)
        on_progress("running", len(outcomes), len(wanted))

    workers = workers or os.cpu_count() or 1
    apart = [job for job in waiting if workers > 1 and not job.wants_all_cores]
    if apart:
        with _processes(workers) as pool:
            try:
                started = {pool.submit(run, data, job): job for job in apart}
                for future in as_completed(started):
                    done(started[future], future.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)  # what runs is waited for: no process is left behind
                raise
    for job in waiting:
        if job not in outcomes:
            done(job, run(data, job))
    return Results(outcomes)


def draw_all(
    figures: Sequence[tuple[Figure, Path]],
    source: Mapping[str, str] | None = None,
    workers: int | None = None,
    on_progress: OnProgress = lambda *_: None,
) -> None:
    """Write each figure into its folder."""
    workers = workers or os.cpu_count() or 1
    if workers == 1:
        for done, (figure, folder) in enumerate(figures):
            on_progress("drawing", done, len(figures))
            figure.write(folder, source)
        return
    with _processes(workers) as pool:
        started = [pool.submit(figure.write, folder, source) for figure, folder in figures]
        for done, future in enumerate(as_completed(started)):
            on_progress("drawing", done, len(figures))
            future.result()


def run(data: Path, job: Job) -> Outcome:
    return KINDS[job.kind](data, job.settings)


def _processes(number: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(number, mp_context=get_context("spawn"), initializer=_single_core)


def _single_core() -> None:
    """A process has one core, so that Arrow needs no threads; an interrupt is left to the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pa.set_cpu_count(1)


def _load(path: Path) -> Outcome | None:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None


def _save(path: Path, outcome: Outcome) -> None:
    part = path.with_suffix(".part")
    try:
        part.write_text(json.dumps(outcome), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path.parent}: cannot be written ({(error.strerror or 'no access').lower()})") from None


@lru_cache(maxsize=1)
def _basis(data: Path) -> str:
    """A digest of the code that makes the numbers and of the data they are made of."""
    digest = hashlib.sha256()
    home = Path(shoal.__file__).parent
    for path in sorted(home.rglob("*.py")):
        within = path.relative_to(home)
        if within.parts[0] not in _UNRELATED and (within.parts[0] != "experiments" or within.name in _COMPUTING):
            digest.update(path.read_bytes())
    for path in sorted(data.rglob("*.csv*")) + sorted(data.rglob("adult.data*")):
        digest.update(f"{path.relative_to(data)} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
