"""Streams from a source to a sink."""

from shoal.pipeline.check import Findings, check
from shoal.pipeline.run import Progress, run

__all__ = ["Findings", "Progress", "check", "run"]
