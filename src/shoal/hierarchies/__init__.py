"""Hierarchies that need not be written by hand: built from a rule, or ready-made. All are lines from a leaf to the root."""

from shoal.hierarchies.build import BUILDERS, build, is_named
from shoal.hierarchies.complete import MARK, completed
from shoal.hierarchies.ready import READY, ready
from shoal.hierarchies.schema import SCHEMA

__all__ = ["BUILDERS", "MARK", "READY", "SCHEMA", "build", "completed", "is_named", "ready"]
