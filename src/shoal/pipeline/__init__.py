"""Streams from a source to a sink."""

from shoal.pipeline.run import Progress, run

__all__ = ["Progress", "run"]
