"""A stream to try shoal on: wearables, generated."""

from shoal.demo.folder import Demo, policy_of, prepare
from shoal.demo.wearables import ENDLESS, START, live, wearables

__all__ = ["ENDLESS", "START", "Demo", "live", "policy_of", "prepare", "wearables"]
