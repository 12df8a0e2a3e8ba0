"""A hierarchy as indented text: one label per line, its children indented below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.config import read_yaml as yaml
from shoal.errors import PolicyError
from shoal.hierarchies import is_named
from shoal.policy import Hierarchy

Tree = dict[str, Any]
MOST = 10


def parse_tree(text: str) -> Tree:
    """The tree as a policy writes it; or the builder or ready-made hierarchy that the text names.

    >>> parse_tree('''
    ... Europe
    ...   France
    ...     Paris
    ...     Lyon
    ...   Oslo
    ... ''')
    {'Europe': {'France': ['Paris', 'Lyon'], 'Oslo': 'Oslo'}}
    >>> parse_tree("ready: countries")
    {'ready': 'countries'}

    Raises PolicyError if the lines are no tree; each problem names its line.
    """
    named = _named(text)
    if named:
        return named
    top: Tree = {}
    above: list[tuple[int, Tree]] = [(-1, top)]  # the indentation of each ancestor, and its children
    first: dict[int, int] = {}  # the indentation of the first of some siblings
    problems = []
    for number, line in enumerate(text.expandtabs(4).splitlines(), 1):
        label = line.strip()
        if not label:
            continue
        indent = len(line) - len(line.lstrip())
        while indent <= above[-1][0]:
            above.pop()
        siblings = above[-1][1]
        if first.setdefault(id(siblings), indent) != indent:
            problems.append(f"line {number}: stands beside no line above it; align it with its siblings")
        if label in siblings:
            problems.append(f"line {number}: {label!r} is there already, beside it; keep one")
        below = siblings.setdefault(label, {})
        above.append((indent, below))
    if problems:
        raise PolicyError(problems[:MOST])
    return {label: _as_policy(label, below) for label, below in top.items()}


def tree_text(tree: Hierarchy) -> str:
    """A hierarchy as indented text.

    >>> paths = [["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Oslo", "Europe"]]
    >>> print(tree_text(Hierarchy.of(paths)), end="")
    Europe
      France
        Paris
        Lyon
      Oslo
    """
    below: dict[int, list[int]] = {}
    for node in range(len(tree.labels)):
        below.setdefault(int(tree.parent[node]), []).append(node)
    lines = []
    waiting = [(tree.root, 0)]
    while waiting:
        node, depth = waiting.pop()
        lines.append(f"{'  ' * depth}{tree.labels[node]}\n")
        waiting += [(child, depth + 1) for child in sorted(below.get(node, ()), key=lambda n: -int(tree.first[n]))]
    return "".join(lines)


def _as_policy(label: str, below: Tree) -> Any:
    if not below:
        return label
    if not any(below.values()):
        return list(below)
    return {each: _as_policy(each, deeper) for each, deeper in below.items()}


def _named(text: str) -> Tree | None:
    if ":" not in text:
        return None
    try:
        found = yaml(text)
    except PolicyError:
        return None
    return dict(found) if isinstance(found, Mapping) and is_named(found) else None
