"""What to protect and how: attributes, hierarchies, nulls, privacy, window, algorithm."""

from shoal.policy.about import About
from shoal.policy.accept import ATTACKS
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
)
from shoal.policy.attribute import Attribute, Diversity, Requirement
from shoal.policy.canonical import canonical
from shoal.policy.generalize import Sets
from shoal.policy.hierarchy import Hierarchy, decode, parse_file, parse_tree
from shoal.policy.input import Input
from shoal.policy.outside import (
    Registered,
    all_names,
    all_windowed,
    needs_reuse_age,
    outside_names,
    package_of,
    parameters_of,
)
from shoal.policy.policy import Policy, Reuse
from shoal.policy.policy_file import DEFAULT, schema_text
from shoal.policy.sections import MOST_QUASI, NOBODY, Item, Privacy, Time, Window
from shoal.policy.stable import UNLISTED, Blocks, Releases, lowest_nodes, parse_blocks
from shoal.policy.zanon import Tuned, Zanon

__all__ = [
    "ATTACKS", "DEFAULT", "DEFAULT_NAME", "FILTER", "KNOWN", "MOST_QUASI", "NAMES", "NOBODY", "UNLISTED", "WINDOWED",
    "About", "Algorithm", "Attribute", "Blocks", "Diversity", "Fads", "Fast", "Hierarchy", "Idea", "Input", "Item",
    "Kvarp", "Parameters", "Policy", "Privacy", "Registered", "Releases", "Requirement", "Reuse", "Sets", "Time", "Tuned",
    "Window", "Zanon", "all_names", "all_windowed", "canonical", "decode", "lowest_nodes", "needs_reuse_age", "outside_names",
    "package_of", "parameters_of", "parse_blocks", "parse_file", "parse_tree", "schema_text",
]  # fmt: skip
