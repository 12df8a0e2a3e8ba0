"""A stream to try shoal on: wearables, generated."""

from shoal.demo.folder import Demo, policy_of, prepare
from shoal.demo.live import live
from shoal.demo.wearables import wearables

__all__ = ["Demo", "live", "policy_of", "prepare", "wearables"]
