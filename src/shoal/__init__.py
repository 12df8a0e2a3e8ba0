"""shoal anonymizes data streams while they flow."""

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
