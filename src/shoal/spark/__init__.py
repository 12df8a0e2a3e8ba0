"""The same anonymizer as an operator of Apache Spark, for streaming and for batch DataFrames."""

from shoal.spark.anonymize import anonymize
from shoal.spark.configure import configure
from shoal.spark.drain import Drain
from shoal.spark.evidence import Evidence, evidence
from shoal.spark.judge import JobReport, audit
from shoal.spark.rejected import rejected

__all__ = ["Drain", "Evidence", "JobReport", "anonymize", "audit", "configure", "evidence", "rejected"]
