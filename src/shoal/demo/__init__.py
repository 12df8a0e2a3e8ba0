"""A stream to try shoal on: wearables, generated."""

from shoal.demo.folder import Demo, policy_of, policy_text, prepare
from shoal.demo.shoal import Shoal
from shoal.demo.wearables import ENDLESS, EVERY, START, live, wearables

__all__ = ["ENDLESS", "EVERY", "START", "Demo", "Shoal", "live", "policy_of", "policy_text", "prepare", "wearables"]
