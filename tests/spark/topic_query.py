"""The operator in a query of a user's own, from topic to topic: python topic_query.py BROKERS FOLDER."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from shoal.spark import anonymize
from shoal.spark.pipe import settings
from spark.stream import KEY, SCHEMA


def main(brokers: str, home: Path) -> None:
    os.environ["SHOAL_WARM"] = "fads"
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings("local[2]", "fads", 2).items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    source = {"kafka.bootstrap.servers": brokers, "subscribe": "raw", "startingOffsets": "earliest"}
    record = F.from_json(F.col("value").cast("string"), SCHEMA).alias("record")
    arriving = spark.readStream.format("kafka").options(**source).load().select(record).select("record.*")
    sample = spark.read.format("kafka").options(**source).load().select(record).select("record.*")
    clean = anonymize(arriving, home / "policy.yaml", 2, sample=sample, split_tree=f"{home}/tree", key=KEY)
    line = F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("value")
    writer = clean.select(line).writeStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("topic", "clean")
    writer.option("checkpointLocation", f"{home}/checkpoint").trigger(processingTime="1 second").start().awaitTermination()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
