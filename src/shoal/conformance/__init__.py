"""The conformance suite: what every algorithm must keep, on generated streams; and the parts that naive twins are made of.

`pytest --pyargs shoal.conformance` runs it over all algorithms that other packages have registered; `-k NAME` over one.
It needs pytest and hypothesis: `pip install 'shoal-stream[conformance]'`.
"""

from shoal.conformance.naive import Algorithm, Entry, Row, by_arrival, jaccard, nearest, partitions, persons, valid

__all__ = ["Algorithm", "Entry", "Row", "by_arrival", "jaccard", "nearest", "partitions", "persons", "valid"]
