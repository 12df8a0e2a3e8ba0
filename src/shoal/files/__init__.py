"""Files: a run from file to file, and fields of a file that commands need."""

from shoal.files.run import Events, Progress, distinct_values, read_events, run

__all__ = ["Events", "Progress", "distinct_values", "read_events", "run"]
