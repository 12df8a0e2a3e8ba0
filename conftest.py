"""Doctests of what only some users install are left out where it is not there."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("pyspark") else ["src/shoal/spark/*"]
