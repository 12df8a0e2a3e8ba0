"""The data sets of the papers, and public streams, read from a folder that holds them; none is part of the project."""

from shoal.datasets import adult, informs, weather
from shoal.datasets.adult import QUASI, SENSITIVE, folder
from shoal.datasets.dataset import ORDERS, DataSet, Place, Span, found, losses, merged
from shoal.datasets.originals import ORIGINALS, Prepared, known_files, prepare
from shoal.datasets.returning import RETURNING

__all__ = [
    "ORDERS", "ORIGINALS", "QUASI", "RETURNING", "SENSITIVE", "DataSet", "Place", "Prepared", "Span", "adult", "folder",
    "found", "informs", "known_files", "losses", "merged", "prepare", "weather",
]  # fmt: skip
