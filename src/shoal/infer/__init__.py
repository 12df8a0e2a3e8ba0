"""Drafts of policies, from a sample of the data."""

from shoal.infer.draft import draft

__all__ = ["draft"]
