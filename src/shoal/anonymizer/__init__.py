"""The anonymizer: push, push_batch, tick, flush, snapshot, restore."""

from shoal.anonymizer.anonymizer import Anonymizer
from shoal.anonymizer.engine import UserCounts
from shoal.anonymizer.secret import secret
from shoal.anonymizer.stats import Drift, FilterStats, Stats
from shoal.columns.rejection import Rejection

__all__ = ["Anonymizer", "Drift", "FilterStats", "Rejection", "Stats", "UserCounts", "secret"]
