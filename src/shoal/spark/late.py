"""Late records, and the watermark of the result."""

from __future__ import annotations

import math

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampNTZType, TimestampType

from shoal.algorithms import algorithm
from shoal.config import span
from shoal.errors import InputError
from shoal.policy import Policy

_WATERMARK = "spark.watermarkDelayMs"


def allowed_delay(given: float | str, df: DataFrame, policy: Policy) -> float:
    """How many seconds the time of a record may be behind.

    Raises
    ------
    InputError
        It cannot be used with this DataFrame or policy.
    """
    if policy.window is None or policy.window.kind != "time":
        raise InputError("late: needs a window of time; leave it out, or write window: {time: 30s}")
    if not df.isStreaming:
        raise InputError("late: nothing is late in a batch DataFrame, which is read in order of time; leave it out")
    marked = [field.name for field in df.schema.fields if _WATERMARK in field.metadata]
    if marked:
        column = ", ".join(marked)
        raise InputError(f"late: the DataFrame has a watermark on {column}; leave it out, since the result gets one")
    try:
        return float(span(given))
    except ValueError:
        raise InputError("late: is not a duration; write it like 250ms, 30s, 5m, or as a number of seconds") from None


def with_watermark(found: DataFrame, policy: Policy, late: float) -> DataFrame:
    """The result with a watermark on its time, if it is published as a timestamp.

    A tuple that is held at the end of a batch is at most as old as the deadline, and it was at most `late` behind when it came.
    """
    time = policy.time.field if policy.time else ""
    if time not in found.columns or not isinstance(found.schema[time].dataType, TimestampType | TimestampNTZType):
        return found
    return found.withWatermark(f"`{time}`", f"{math.ceil(1000 * (late + longest_wait(policy)))} milliseconds")


def longest_wait(policy: Policy) -> float:
    """How long a tuple may wait, in seconds."""
    assert policy.window is not None
    waits = (policy.window.length, algorithm(policy).deadline)
    return max(wait for wait in waits if wait < math.inf)
