"""What naive twins are made of: rows, measures, reuse and promises in plain Python. It imports nothing else of shoal."""

from shoal.conformance.naive.common import Algorithm, Arrival, Categorical, Entry, Numeric, Release, Row, Sets, Tick
from shoal.conformance.naive.measures import Doubtful
from shoal.conformance.naive.promises import Demand
from shoal.conformance.naive.rows import by_arrival, jaccard, nearest, partitions, persons, valid

__all__ = [
    "Algorithm", "Arrival", "Categorical", "Demand", "Doubtful", "Entry", "Numeric", "Release", "Row", "Sets", "Tick",
    "by_arrival", "jaccard", "nearest", "partitions", "persons", "valid",
]  # fmt: skip
