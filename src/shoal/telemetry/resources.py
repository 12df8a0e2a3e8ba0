"""What the process takes of its machine."""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

_PAGE = resource.getpagesize()


class Resources:
    """Processor and memory of this process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._before = clock(), time.process_time()
        self.cores: float | None = None  # that were busy, from one measurement to the next
        self.memory = resident()

    def measure(self) -> None:
        now, used = self._clock(), time.process_time()
        elapsed = now - self._before[0]
        if elapsed > 0:
            self.cores = max(used - self._before[1], 0.0) / elapsed
            self._before = now, used
        self.memory = resident()


def resident() -> int:
    """Bytes of memory that the process has; the most that it ever had, if the system reports nothing else."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if sys.platform == "darwin" else most * 1024
