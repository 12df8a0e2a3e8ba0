"""What to protect and how: attributes, hierarchies, nulls, privacy, window, algorithm."""

from shoal.policy.algorithm import Algorithm, Fads, Idea, Kvarp
from shoal.policy.attribute import Attribute
from shoal.policy.event_time import Time
from shoal.policy.hierarchy import Hierarchy
from shoal.policy.item import Item
from shoal.policy.policy import Policy
from shoal.policy.privacy import Privacy
from shoal.policy.reuse import Reuse
from shoal.policy.text import canonical
from shoal.policy.window import Window
from shoal.policy.zanon import Tuned, Zanon

__all__ = [
    "Algorithm",
    "Attribute",
    "Fads",
    "Hierarchy",
    "Idea",
    "Item",
    "Kvarp",
    "Policy",
    "Privacy",
    "Reuse",
    "Time",
    "Tuned",
    "Window",
    "Zanon",
    "canonical",
]
