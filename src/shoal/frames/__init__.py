"""Whole frames, in and out: pandas, polars, Arrow, NumPy."""

from shoal.frames.anonymize import anonymize
from shoal.frames.expand import expanded

__all__ = ["anonymize", "expanded"]
