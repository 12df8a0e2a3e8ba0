"""A hierarchy of categories, with its leaves numbered so that every node is an interval of them; and its forms in a policy."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoal.errors import PolicyError
from shoal.hierarchies import build
from shoal.policy.canonical import canonical

MOST_PROBLEMS = 10
Integers = NDArray[np.int64]


class Branches:
    """Collects branches, each from a leaf to the root, and every problem that keeps them from being a tree."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.parent: dict[str, str | None] = {}
        self.children: dict[str, list[str]] = {}  # of inner nodes
        self._seen: dict[str, str] = {}
        self._above: dict[str, tuple[str, ...]] = {}  # the ancestors of each leaf, up to the root
        self._tails: dict[tuple[object, ...], tuple[str, ...]] = {}  # ancestors as they are written, and their labels

    @property
    def root(self) -> str:
        """The label that every branch ends with."""
        return next(label for label, above in self.parent.items() if above is None)

    @property
    def full(self) -> bool:
        """Whether so many problems were found that the search stops."""
        return len(self.problems) >= MOST_PROBLEMS

    def add(self, labels: Sequence[object], where: str) -> None:
        """Add a branch, leaf first; one that does not fit becomes a problem."""
        tail = self._tails.get(tuple(labels[1:]))
        leaf = canonical(labels[0]) if tail and labels else None
        if tail and leaf and leaf not in self.parent:
            self._add_leaf(leaf, tail, where)
            return
        branch = [canonical(label) or "" for label in labels]
        if "" in branch:
            problem: str | None = f"label {branch.index('') + 1} is empty; name it or remove it"
        else:
            branch = [label for label, _ in groupby(branch)]
            problem = self._problem(branch)
        if problem:
            self.problems.append(f"{where}: {problem}")
        elif branch[0] not in self._above:
            self._insert(branch, where)
            if len(branch) > 1 and canonical(labels[1]) != branch[0]:
                self._tails[tuple(labels[1:])] = self._above[branch[0]]

    def check(self, source: str = "") -> None:
        """Raise all problems, each after the name of the source."""
        if not self.problems and not self.parent:
            self.problems.append("has no leaves; write one line per leaf")
        if self.problems:
            more = ["further problems, if any, are not listed"] if self.full else []
            raise PolicyError([source + problem for problem in [*self.problems, *more]])

    def _problem(self, branch: list[str]) -> str | None:
        if len(set(branch)) < len(branch):
            twice = next(label for label in branch if branch.count(label) > 1)
            return f"{twice!r} appears twice in one branch; rename one"
        leaf, root = branch[0], branch[-1]
        if self.parent and root != self.root:
            return f"the root is {root!r} here but {self.root!r} in {self._seen[self.root]}; use one root"
        if self._above.get(leaf, tuple(branch[1:])) != tuple(branch[1:]):
            return f"the leaf {leaf!r} has another branch in {self._seen[leaf]}; keep one"
        if self.children.get(leaf):
            return f"{leaf!r} is a leaf here but an inner node in {self._seen[leaf]}; rename one"
        return next(filter(None, (self._misfit(label, above) for label, above in pairwise(branch))), None)

    def _misfit(self, label: str, above: str) -> str | None:
        if above in self._above:
            return f"{above!r} is an inner node here but a leaf in {self._seen[above]}; rename one"
        known = self.parent.get(label, above)
        if known != above:
            return f"{label!r} lies under {above!r} here but under {known!r} in {self._seen[label]}; give it one parent"
        return None

    def _insert(self, branch: list[str], where: str) -> None:
        for label, above in zip(branch[1:], [*branch[2:], None], strict=False):
            if label not in self.parent:
                self._add_node(label, above, where)
        self._add_leaf(branch[0], tuple(branch[1:]), where)

    def _add_leaf(self, leaf: str, tail: tuple[str, ...], where: str) -> None:
        self._above[leaf] = tail
        self._add_node(leaf, tail[0] if tail else None, where)

    def _add_node(self, label: str, above: str | None, where: str) -> None:
        self.parent[label] = above
        self._seen[label] = where
        if above is not None:
            self.children.setdefault(above, []).append(label)


@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A tree of labels as arrays.

    Nodes `0 .. leaves-1` are the leaves in depth-first order; inner nodes follow, children before parents,
    the root last. Node `n` covers the leaves `first[n] .. last[n]`.

    >>> tree = Hierarchy.of([["Paris", "France", "Europe"], ["Lyon", "France", "Europe"], ["Oslo", "Europe"]])
    >>> tree.labels
    ('Paris', 'Lyon', 'Oslo', 'France', 'Europe')
    >>> tree.first[3], tree.last[3]
    (np.int64(0), np.int64(1))
    """

    labels: tuple[str, ...]
    parent: Integers
    first: Integers
    last: Integers
    leaves: int
    code: Mapping[str, int]

    @classmethod
    def of(cls, lines: Sequence[Sequence[str]]) -> Hierarchy:
        """The hierarchy of lines that each lead from a leaf to the root."""
        branches = Branches()
        for number, line in enumerate(lines, 1):
            branches.add(line, f"line {number}")
        branches.check()
        return cls.of_branches(branches)

    @classmethod
    def of_branches(cls, branches: Branches) -> Hierarchy:
        """The hierarchy of branches that have been checked."""
        leaves, inner = _order(branches)
        labels = (*leaves, *inner)
        node: dict[str | None, int] = {label: number for number, label in enumerate(labels)}
        parent = [node.get(branches.parent[label], -1) for label in labels]
        first = [*range(len(leaves)), *[len(leaves)] * len(inner)]
        last = [*range(len(leaves)), *[-1] * len(inner)]
        for number, above in enumerate(parent):
            if above >= 0:
                first[above] = min(first[above], first[number])
                last[above] = max(last[above], last[number])
        code = MappingProxyType({label: number for number, label in enumerate(leaves)})
        return cls(labels, _read_only(parent), _read_only(first), _read_only(last), len(leaves), code)

    @property
    def root(self) -> int:
        """The root's number."""
        return len(self.labels) - 1

    def lines(self) -> list[list[str]]:
        """The labels from leaf to root, one line per leaf."""
        return [self._line(leaf) for leaf in range(self.leaves)]

    def _line(self, node: int) -> list[str]:
        line = []
        while node >= 0:
            line.append(self.labels[node])
            node = int(self.parent[node])
        return line

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hierarchy):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.parent, other.parent)

    def __hash__(self) -> int:
        return hash(self.labels)

    def __reduce__(self) -> tuple[object, tuple[list[list[str]]]]:
        return Hierarchy.of, (self.lines(),)

    def __repr__(self) -> str:
        return f"Hierarchy(root={self.labels[self.root]!r}, leaves={self.leaves}, nodes={len(self.labels)})"


def _order(branches: Branches) -> tuple[list[str], list[str]]:
    """Leaves in depth-first order, and inner nodes with children before parents."""
    leaves: list[str] = []
    inner: list[str] = []
    waiting = [(branches.root, False)]
    while waiting:
        label, done = waiting.pop()
        below = branches.children.get(label)
        if not below:
            leaves.append(label)
        elif done:
            inner.append(label)
        else:
            waiting.append((label, True))
            waiting.extend((child, False) for child in reversed(below))
    return leaves, inner


def _read_only(numbers: Sequence[int]) -> Integers:
    result = np.array(numbers, dtype=np.int64)
    result.flags.writeable = False
    return result


Branch = tuple[object, ...]


def load_file(name: str, folder: Path) -> Hierarchy:
    """The hierarchy of a file inside the policy's folder."""
    return parse_file(read_bytes(name, folder), name)


def load_values(name: str, folder: Path) -> list[str]:
    """The values in a file inside the policy's folder, one per line."""
    return [line.strip() for line in decode(read_bytes(name, folder), name).splitlines() if line.strip()]


def parse_file(data: bytes, name: str) -> Hierarchy:
    """The hierarchy of a file's bytes; `name` is what messages call it."""
    branches = Branches()
    rows = csv.reader(io.StringIO(decode(data, name), newline=""), delimiter=";", strict=True)
    try:
        for row in rows:
            if row and not (len(row) == 1 and row[0].isspace()):
                branches.add(row, f"line {rows.line_num}")
            if branches.full:
                break
    except csv.Error:
        problem = f"line {rows.line_num}: its quotes do not match; double a quote inside quotes"
        raise PolicyError([f"{name}, {problem}"]) from None
    if not branches.parent and not branches.problems:
        raise PolicyError([f"{name} is empty; write one line per leaf, leaf first, root last, ';' between"])
    branches.check(f"{name}, ")
    return Hierarchy.of_branches(branches)


def read_bytes(name: str, folder: Path) -> bytes:
    """The bytes of a file inside the policy's folder."""
    try:
        path, home = (folder / name).resolve(), folder.resolve()
        if Path(name).is_absolute() or not path.is_relative_to(home):
            raise PolicyError([f"{name} lies outside the policy's folder; move it inside and name it from there"])
        if path.is_file() or not path.exists():
            return path.read_bytes()
        problem = "is not a file; name a file"
    except FileNotFoundError:
        problem = "does not exist in the policy's folder; add it or correct the name"
    except (OSError, ValueError, RuntimeError):
        problem = "cannot be read; check that it is a file and its permissions"
    raise PolicyError([f"{name} {problem}"])


def decode(data: bytes, name: str) -> str:
    """The text of a file's bytes; `name` is what messages call it."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise PolicyError([f"{name}, line {line}: is not UTF-8; save the file as UTF-8"]) from None


def parse_tree(tree: Mapping[object, object]) -> Hierarchy:
    """The hierarchy of a nested mapping whose values are mappings, lists of leaves, or a leaf.

    >>> parse_tree({"Europe": {"France": ["Paris", "Lyon"], "Norway": "Oslo"}}).lines()
    [['Paris', 'France', 'Europe'], ['Lyon', 'France', 'Europe'], ['Oslo', 'Norway', 'Europe']]
    """
    if len(tree) != 1:
        raise PolicyError([f"has {len(tree)} roots; put everything under one key"])
    branches = Branches()
    for branch in _branches((), tree, branches.problems, ()):
        branches.add(branch, _where(branch[1:] or branch))
        if branches.full:
            break
    branches.check()
    return Hierarchy.of_branches(branches)


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


def built(written: Mapping[Any, Any], folder: Path | None) -> Hierarchy:
    """The hierarchy; its leaves are those of the range or the values, never learned from the data.

    >>> built({"builder": "dates", "range": ["2024-01-31", "2024-02-01"], "levels": ["month"]}, None).lines()
    [['2024-01-31', '2024-01', 'any'], ['2024-02-01', '2024-02', 'any']]
    """
    file = written.get("values")
    if isinstance(file, str):
        if folder is None:
            raise PolicyError(["values: is a file, but the policy has no folder; give a folder, or list the values"])
        written = {**written, "values": load_values(file, folder)}
    return Hierarchy.of(build(written))
