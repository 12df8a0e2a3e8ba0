"""A command of shoal in a process of its own: its time and its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

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
