"""shoal anonymizes data streams while they flow.

A name is imported when it is first used, so that a command loads only what it needs.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.anonymizer import Anonymizer, FilterStats, Rejection, Stats
    from shoal.checks import check
    from shoal.errors import InputError, PolicyError, RecordError, ShoalError, SnapshotError, WorkerError
    from shoal.files import run
    from shoal.frames import anonymize
    from shoal.policy import Policy

__all__ = [
    "Anonymizer",
    "FilterStats",
    "InputError",
    "Policy",
    "PolicyError",
    "RecordError",
    "Rejection",
    "ShoalError",
    "SnapshotError",
    "Stats",
    "WorkerError",
    "anonymize",
    "check",
    "run",
]

_HOMES = {
    "anonymizer": ("Anonymizer", "FilterStats", "Rejection", "Stats"),
    "checks": ("check",),
    "errors": ("InputError", "PolicyError", "RecordError", "ShoalError", "SnapshotError", "WorkerError"),
    "files": ("run",),
    "frames": ("anonymize",),
    "policy": ("Policy",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"shoal.{home}"), name)
            return found
    raise AttributeError(f"module 'shoal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
