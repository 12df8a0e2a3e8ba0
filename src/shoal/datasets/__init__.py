"""The data sets of the papers, read from a folder that holds them; none is part of the project."""

from shoal.datasets import adult, informs, weather
from shoal.datasets.dataset import ORDERS, DataSet, Place, Span, found, losses, merged

__all__ = ["ORDERS", "DataSet", "Place", "Span", "adult", "found", "informs", "losses", "merged", "weather"]
