"""Where pyspark is not installed nothing of Spark is looked at; `make test-spark` does that."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("pyspark") else ["src/shoal/spark", "tests/spark"]
