"""Files and pieces of bytes to record batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from shoal.dialect import USUAL, Dialect
from shoal.formats.kind import kind
from shoal.formats.reading.csv import CsvReader
from shoal.formats.reading.jsonl import JsonlReader, first_records
from shoal.formats.reading.reader import Reader
from shoal.formats.reading.tables import ArrowReader, ParquetReader

ROWS = 10_000  # records of JSON lines whose keys are listed; other files name their fields themselves


def open_reader(
    path: str,
    fields: Sequence[str] | None,
    *,
    passed: Collection[str] = (),
    rows: int = 32_768,
    target: str | None = None,
    dialect: Dialect = USUAL,
) -> Reader:
    """Read the named fields of a file, or of JSON lines on standard input if the path is `-`, in blocks of at most `rows`.

    Without fields, all are read, but for JSON lines, which do not say what they have. The dialect says how texts are written.
    A field that the file does not have is a column of nulls. Fields in `passed` are only passed through: from JSON lines they
    are read as JSON text. `target` is the file that will be written: from Parquet to Parquet, their text may stay coded.

    >>> from tempfile import TemporaryDirectory
    >>> import pyarrow as pa
    >>> from shoal.formats import open_writer
    >>> with TemporaryDirectory() as folder:
    ...     with open_writer(f"{folder}/people.csv") as writer:
    ...         writer.write(pa.record_batch({"name": ["Ann", "Bo"], "age": [40, None]}))
    ...     with open_reader(f"{folder}/people.csv", ["age"]) as reader:
    ...         for block in reader:
    ...             print(block.batch.to_pydict(), block.rows)
    {'age': ['40', '']} [0 1]
    """
    match kind(path):
        case "jsonl":
            return JsonlReader(path, fields or (), passed, rows, dialect.encoding)
        case "csv":
            return CsvReader(path, fields, passed, rows, dialect)
        case "parquet":
            return ParquetReader(path, fields, passed, rows, may_code=target is not None and kind(target) == "parquet")
        case "arrow":
            return ArrowReader(path, fields, rows)
        case "orc":
            from shoal.formats.reading.orc import OrcReader

            return OrcReader(path, fields, rows)
        case "avro":
            from shoal.formats.reading.avro import AvroReader

            return AvroReader(path, fields, rows)
        case _:
            from shoal.formats.reading.excel import ExcelReader

            return ExcelReader(path, fields, rows, dialect)


def field_names(path: str, dialect: Dialect = USUAL) -> list[str]:
    """The fields of a file, in order: a header, a schema, or the keys of its first records.

    Standard input can be read only once: nothing of it is left for a reader afterwards.
    """
    if kind(path) == "jsonl":
        return list(first_records(path, ROWS, dialect.encoding).keys())
    with open_reader(path, (), dialect=dialect) as reader:
        return reader.header()
