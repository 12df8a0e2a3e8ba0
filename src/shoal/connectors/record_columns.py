"""Records of Python as columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.formats import plain_text, typed_column
from shoal.path import ABSENT, in_record


class Columns(NamedTuple):
    """The columns of some records, and which of these could be read."""

    columns: list[pa.Array]
    good: NDArray[np.bool_]


def listed_columns(records: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> list[pa.Array]:
    """The fields of records of Python, each as one type, or as text if there are several."""
    found = []
    for name in fields:
        values = [None if (value := in_record(record, name)) is ABSENT else value for record in records]
        try:
            found.append(typed_column([_simple(value) for value in values]))
        except (pa.ArrowException, OverflowError):
            found.append(pa.array([plain_text(_simple(value)) for value in values], pa.string()))
    return found


def _simple(value: Any) -> Any:
    return value if value is None or isinstance(value, str | bool | int | float | list | dict) else str(value)
