"""The same anonymizer as an operator of Apache Spark, for streaming and for batch DataFrames."""

from shoal.spark.anonymize import anonymize
from shoal.spark.pipe import pipe

__all__ = ["anonymize", "pipe"]
