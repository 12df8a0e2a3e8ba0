"""Tasks timed in turns, so that what disturbs the machine disturbs all alike; and commands in processes of their own."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any, NamedTuple, TypedDict

import shoal
from shoal.errors import ShoalError

_PARENT = """
import json, os, sys, time
start = time.perf_counter()
_, status, usage = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
peak = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([os.waitstatus_to_exitcode(status), time.perf_counter() - start, peak]))
"""
# The system counts towards a child's peak what its parent held when it was started, so the parent must be a small process.


class Usage(NamedTuple):
    """What a process took."""

    seconds: float
    peak: int  # bytes resident at most


def run_alone(command: str, *arguments: str | Path) -> Usage | None:
    """`shoal COMMAND` in a process of its own; None where the system cannot measure it."""
    if not hasattr(os, "wait4") or not hasattr(os, "posix_spawn"):
        return None
    path = [str(Path(shoal.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1"}
    run = [sys.executable, "-m", "shoal.cli", command, *map(str, arguments)]
    done = subprocess.run([sys.executable, "-ISc", _PARENT, *run], capture_output=True, text=True, env=environment)
    status, seconds, peak = json.loads(done.stdout.splitlines()[-1])
    if status:
        raise ShoalError(f"shoal {command} ended with status {status}: {done.stderr.strip()}")
    return Usage(seconds, peak)


Step = Callable[[str, int, int], None]


class Timing(TypedDict):
    """Seconds for one pass over so many tuples."""

    tuples: int
    seconds: list[float]
    median: float
    spread: float  # from the fastest to the slowest, as a share of the median
    ns: float  # a tuple
    rate: float  # tuples per second
    busy: float  # the share of the time that this process had a core; above 1 on more than one


class Task(NamedTuple):
    """A piece of work that is timed."""

    label: str
    work: Callable[[], Any]
    tuples: int = 1
    passes: int = 1  # how often it is done for one time
    prepare: Callable[[], Any] = lambda: None  # done before, untimed


class Timed(NamedTuple):
    """What a task gave, and how long it took."""

    result: Any  # of the last round
    timing: Timing


def timing(seconds: Sequence[float], tuples: int, busy: float = 1.0) -> Timing:
    """
    >>> timing([2.0, 1.0, 4.0], 1000)["median"], timing([2.0, 1.0, 4.0], 1000)["spread"]
    (2.0, 1.5)
    """
    middle = median(seconds)
    return {
        "tuples": tuples,
        "seconds": list(seconds),
        "median": middle,
        "spread": (max(seconds) - min(seconds)) / middle,
        "ns": 1e9 * middle / tuples,
        "rate": tuples / middle,
        "busy": busy,
    }


def interleaved(tasks: Sequence[Task], rounds: int, step: Step = lambda doing, done, total: None) -> list[Timed]:
    """Do every task once in each round."""
    seconds: list[list[float]] = [[] for _ in tasks]
    busy = [0.0 for _ in tasks]
    results: list[Any] = [None] * len(tasks)
    for turn in range(rounds):
        for i, task in enumerate(tasks):
            step(task.label, turn * len(tasks) + i, rounds * len(tasks))
            results[i] = None
            task.prepare()
            gc.collect()
            gc.disable()
            try:
                used, start = process_time(), perf_counter()
                for _ in range(task.passes):
                    results[i] = task.work()
                seconds[i].append((perf_counter() - start) / task.passes)
                busy[i] += (process_time() - used) / task.passes
            finally:
                gc.enable()
    return [Timed(results[i], timing(seconds[i], task.tuples, busy[i] / sum(seconds[i]))) for i, task in enumerate(tasks)]
