"""The same anonymizer as an operator of Apache Spark, for streaming and for batch DataFrames."""

from shoal.spark.anonymize import anonymize

__all__ = ["anonymize"]
