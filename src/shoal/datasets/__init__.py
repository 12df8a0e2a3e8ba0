"""The data sets of the papers, read from a folder that holds them; none is part of the project."""

from shoal.datasets import adult, informs, weather
from shoal.datasets.adult import QUASI, SENSITIVE, folder
from shoal.datasets.dataset import ORDERS, DataSet, Place, Span, found, losses, merged

__all__ = [
    "ORDERS", "QUASI", "SENSITIVE", "DataSet", "Place", "Span", "adult", "folder", "found", "informs", "losses", "merged",
    "weather",
]  # fmt: skip
