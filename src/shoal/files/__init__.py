"""Files: a run from file to file, and fields of a file that commands need."""

from shoal.files.fields import Events, distinct_values, read_events
from shoal.files.run import Progress, run

__all__ = ["Events", "Progress", "distinct_values", "read_events", "run"]
