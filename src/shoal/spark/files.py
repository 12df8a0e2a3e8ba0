"""Files as the source and the sink of a pipeline on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from shoal.formats import kind, suffix

_FORMATS = {"jsonl": "json", "csv": "csv", "parquet": "parquet"}
_LINES = {"ignoreNullFields": "false"}


class FileSource:
    """A file, or all files that match a pattern; if the source is followed, new files are read too."""

    def __init__(self, settings: Any) -> None:
        self._path, self.follows = str(settings.path), bool(settings.follow)
        self._kind = kind(self._path)

    def problems(self) -> Iterator[str]:
        if self._kind not in _FORMATS or suffix(self._path).startswith(".tsv"):
            yield "source.file.path: is a format that is not supported on Spark; use .jsonl, .csv or .parquet"

    def schema(self, spark: SparkSession) -> StructType:
        """The types of the columns, from the existing files."""
        return self._of(spark.read).load(self._path).schema

    def read(self, reader: Any, schema: StructType) -> DataFrame:
        return self._of(reader).schema(schema).load(self._path)

    def _of(self, reader: Any) -> Any:
        return reader.format(_FORMATS[self._kind]).options(**({"header": "true"} if self._kind == "csv" else {}))


class FileSink:
    """A folder of JSON lines."""

    is_json = True

    def __init__(self, settings: Any) -> None:
        self._path = str(settings.path)

    def problems(self) -> Iterator[str]:
        if kind(self._path) != "jsonl":
            yield "sink.file.path: is a format that is not supported on Spark; use .jsonl, or the sink parquet"

    def session(self) -> Mapping[str, str]:
        """What the session needs for it."""
        return {}

    def write(self, found: DataFrame) -> None:
        found.write.mode("error").options(**_LINES).json(self._path)

    def writer(self, found: DataFrame) -> Any:
        """The writer of a streaming query."""
        return found.writeStream.format("json").options(**_LINES, path=self._path)
