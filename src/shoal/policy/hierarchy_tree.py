"""Hierarchies written inside a policy: a nested mapping with one root."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shoal.errors import PolicyError
from shoal.policy.branches import Branches
from shoal.policy.hierarchy import Hierarchy
from shoal.policy.text import canonical

Branch = tuple[object, ...]


def parse(tree: Mapping[object, object]) -> Hierarchy:
    """The hierarchy of a nested mapping whose values are mappings, lists of leaves, or a leaf.

    >>> parse({"Europe": {"France": ["Paris", "Lyon"], "Norway": "Oslo"}}).lines()
    [['Paris', 'France', 'Europe'], ['Lyon', 'France', 'Europe'], ['Oslo', 'Norway', 'Europe']]

    Raises
    ------
    PolicyError
        It is no tree.
    """
    if len(tree) != 1:
        raise PolicyError([f"has {len(tree)} roots; put everything under one key"])
    branches = Branches()
    for branch in _branches((), tree, branches.problems, ()):
        branches.add(branch, _where(branch[1:] or branch))
        if branches.full:
            break
    branches.check()
    return Hierarchy.grow(branches)


def _branches(above: Branch, below: object, problems: list[str], around: tuple[int, ...]) -> Iterator[Branch]:
    where = _where(above)
    if isinstance(below, Mapping | list | tuple):
        if id(below) in around:
            problems.append(f"{where}: contains itself; write it out")
        elif not below:
            problems.append(f"{where}: has no leaves; list some")
        elif isinstance(below, Mapping):
            for label, deeper in below.items():
                if _scalar(label, where, problems):
                    yield from _branches((label, *above), deeper, problems, (*around, id(below)))
        else:
            for leaf in below:
                if isinstance(leaf, Mapping | list | tuple | set):
                    problems.append(f"{where}: a list holds leaves only; write inner nodes as keys of a mapping")
                elif _scalar(leaf, where, problems):
                    yield (leaf, *above)
    elif _scalar(below, where, problems):
        yield (below, *above)


def _scalar(label: object, where: str, problems: list[str]) -> bool:
    text = canonical(label)
    if text is None:
        problems.append(f"{where}: null is no label; quote it if it is meant as text")
    elif not text:
        problems.append(f"{where}: has an empty label; name it or remove it")
    return bool(text)


def _where(above: Branch) -> str:
    return f"branch '{' > '.join(canonical(label) or '' for label in reversed(above))}'" if above else "its root"
