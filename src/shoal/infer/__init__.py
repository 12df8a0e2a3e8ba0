"""Drafts of policies, from a sample of the data."""

from shoal.infer.arx_draft import from_arx
from shoal.infer.draft import draft

__all__ = ["draft", "from_arx"]
