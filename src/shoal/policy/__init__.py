"""What to protect and how: attributes, hierarchies, nulls, privacy, window, algorithm."""

from shoal.policy.algorithm import (
    DEFAULT_NAME,
    FILTER,
    KNOWN,
    NAMES,
    WINDOWED,
    Algorithm,
    Fads,
    Fast,
    Idea,
    Kvarp,
    Parameters,
    needs_reuse_age,
)
from shoal.policy.attribute import Attribute, Diversity, Requirement
from shoal.policy.canonical import canonical
from shoal.policy.generalize import Sets
from shoal.policy.hierarchy import Hierarchy, decode, parse_file, parse_tree
from shoal.policy.input import Input
from shoal.policy.policy import Policy, Reuse
from shoal.policy.policy_file import DEFAULT, schema_text
from shoal.policy.sections import MOST_QUASI, NOBODY, Item, Privacy, Time, Window
from shoal.policy.stable import UNLISTED, Blocks, Releases, lowest_nodes, parse_blocks
from shoal.policy.zanon import Tuned, Zanon

__all__ = [
    "DEFAULT", "DEFAULT_NAME", "FILTER", "KNOWN", "MOST_QUASI", "NAMES", "NOBODY", "UNLISTED", "WINDOWED", "Algorithm",
    "Attribute", "Blocks", "Diversity", "Fads", "Fast", "Hierarchy", "Idea", "Input", "Item", "Kvarp", "Parameters", "Policy",
    "Privacy", "Releases", "Requirement", "Reuse", "Sets", "Time", "Tuned", "Window", "Zanon", "canonical", "decode",
    "lowest_nodes", "needs_reuse_age", "parse_blocks", "parse_file", "parse_tree", "schema_text",
]  # fmt: skip
