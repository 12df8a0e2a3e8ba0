"""Whole frames, in and out: pandas, polars, Arrow, NumPy."""

from shoal.frames.anonymize import anonymize

__all__ = ["anonymize"]
