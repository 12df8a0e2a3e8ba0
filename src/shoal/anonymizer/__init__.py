"""The anonymizer: push, push_batch, tick, flush, snapshot, restore."""

from shoal.anonymizer.anonymizer import Anonymizer
from shoal.anonymizer.drift import Drift
from shoal.anonymizer.engine import Crowd
from shoal.anonymizer.kernels import compile_kernels
from shoal.anonymizer.stats import FilterStats, Stats
from shoal.columns.rejection import Rejection

__all__ = ["Anonymizer", "Crowd", "Drift", "FilterStats", "Rejection", "Stats", "compile_kernels"]
