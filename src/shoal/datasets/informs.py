"""INFORMS 2008: the demographics of the contest."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from shoal.datasets.dataset import DataSet, Place, Span, check_hierarchies, read

QUASI: Mapping[str, Span] = {
    "DOBMM": (1, 12), "DOBYY": (1920, 2005), "SEX": None, "RACEX": None, "EDUCYEAR": None, "marry": None,
    "income": (0, 210_722),
}  # fmt: skip
PLACE = Place(
    "informs/demographics05test.csv",
    "the INFORMS 2008 data mining contest, https://sites.google.com/site/informsdataminingcontest",
)
_PERSON = "DUPERSID"


def dataset(source: Path) -> DataSet:
    """Rows that miss nothing; negative codes are missing."""
    table = read(source, {_PERSON: pa.string(), **dict.fromkeys(QUASI, pa.float64())}, []).drop_null()
    for name in QUASI:
        table = table.filter(pc.greater_equal(table.column(name), 0))
    return DataSet("INFORMS", "INFORMS", source.parent, QUASI, table.rename_columns(["pid", *QUASI]))


def within(data: Path) -> DataSet:
    """The same, from the folder of all data."""
    source = PLACE.within(data)
    check_hierarchies(source.parent, [name for name, span in QUASI.items() if span is None])
    return dataset(source)
