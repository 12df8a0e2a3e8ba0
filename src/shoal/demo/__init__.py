"""A stream to try shoal on: wearables, generated."""

from shoal.demo.folder import Demo, prepare
from shoal.demo.wearables import wearables

__all__ = ["Demo", "prepare", "wearables"]
