"""A command of shoal in a process of its own, its time and its memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import shoal
from shoal.bench import peak
from shoal.errors import ShoalError


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
    done = subprocess.run([sys.executable, "-IS", str(peak.__file__), *run], capture_output=True, text=True, env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    if found["status"]:
        raise ShoalError(f"shoal {command} ended with status {found['status']}: {done.stderr.strip()}")
    return Usage(found["seconds"], found["peak"])
