"""Hierarchies that need not be written by hand: built from a rule, or ready-made. All are lines from a leaf to the root."""

from shoal.hierarchies.build import BUILDERS, MARK, READY, SCHEMA, build, completed, is_named, ready

__all__ = ["BUILDERS", "MARK", "READY", "SCHEMA", "build", "completed", "is_named", "ready"]
