"""The output: what an outsider sees."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from shoal.audit.cells import NO_PAIR, NULL, Part, bands, moments, nodes, paired
from shoal.audit.files import Source, blocks
from shoal.audit.passed import Passed
from shoal.audit.spare import Spare
from shoal.audit.tree import Tree
from shoal.audit.values import Flags, Floats
from shoal.errors import InputError
from shoal.policy import Policy


class Band(NamedTuple):
    """A numeric quasi-identifier as it was published, row by row."""

    lo: Floats  # NaN: null; above hi: what is there is no interval
    hi: Floats
    of: NDArray[np.int32] | None = None  # members and those of them that had a value, where a value is imputed
    had: NDArray[np.int32] | None = None  # NO_PAIR where it bears none; None where no row bears one

    @property
    def null(self) -> Flags:
        return np.isnan(self.lo)


class Node(NamedTuple):
    """A categorical quasi-identifier as it was published, row by row."""

    node: NDArray[np.int32]  # NULL; NO_NODE: what is there is no node of the hierarchy
    tree: Tree
    of: NDArray[np.int32] | None = None
    had: NDArray[np.int32] | None = None

    @property
    def null(self) -> Flags:
        return self.node == NULL


class Published(NamedTuple):
    """The rows of an output."""

    quasi: dict[str, Band | Node]
    passed: dict[str, pa.ChunkedArray]
    moment: Band | None  # the generalized time
    unlisted: list[str]
    absent: list[str]
    spare: dict[str, int]  # how many values a field's dictionary holds that no row shows
    rows: int


def published(policy: Policy, source: Source, trees: dict[str, Tree], on_rows: Callable[[int], None]) -> Published:
    """Read an output as the policy says it looks.

    Raises
    ------
    InputError
        The file cannot be used.
    """
    reader = _Reader(policy, trees)
    rows = 0
    for block in blocks(source):
        rows += block.rows
        if block.end != rows:
            name = fspath(source) if isinstance(source, str | PathLike) else "output"
            bad = np.setdiff1d(np.arange(block.end), block.line)
            first = int(bad[bad >= rows - block.rows][0])
            raise InputError(f"{name}: row {first} is malformed; give the output as it was written")
        reader.take(dict(block.columns), block.rows)
        on_rows(block.rows)
    return reader.done()


class _Reader:
    def __init__(self, policy: Policy, trees: dict[str, Tree]) -> None:
        self._policy = policy
        self._trees = trees
        self._nodes = {name: tree.node_of() for name, tree in trees.items()}
        shown = policy.time.publish if policy.time else "drop"
        field = policy.time.field if policy.time else ""
        self._moment = field if shown == "generalize" else None
        names = [*policy.kept, *([field] if shown == "keep" else [])]
        if policy.item and policy.person:
            names += [policy.person, *policy.item.names]
        self._passed = {name: Passed() for name in names}
        self._parts: dict[str, list[Part]] = {name: [] for name, _ in policy.quasi}
        self._moments: list[Part] = []
        self._spare = {name: Spare(self._nodes.get(name, ())) for name in (*self._parts, *([field] if self._moment else []))}
        self._unlisted: dict[str, None] = {}
        self._seen: set[str] = set()
        self._rows = 0

    def take(self, columns: dict[str, pa.Array], rows: int) -> None:
        self._seen.update(columns)
        self._rows += rows
        for name, attribute in self._policy.quasi:
            column = columns.pop(name, None)
            if column is None:
                column = pa.nulls(rows)
            self._spare[name].take(column)
            read = bands if attribute.quasi == "numeric" else nodes(self._nodes[name])
            self._parts[name].append(self._noted(name, paired(column, read)))
        if self._moment is not None:
            column = columns.pop(self._moment, None)
            column = pa.nulls(rows) if column is None else column
            self._spare[self._moment].take(column)
            self._moments.append(self._noted(self._moment, moments(column)))
        for name, passed in self._passed.items():
            column = columns.pop(name, None)
            passed.take(pa.nulls(rows) if column is None else column)
        self._unlisted.update(dict.fromkeys(columns))

    def _noted(self, name: str, part: Part) -> Part:
        self._unlisted.update(dict.fromkeys(f"{name}.{inner}" for inner in part.extra))
        return part

    def done(self) -> Published:
        quasi: dict[str, Band | Node] = {}
        for name, attribute in self._policy.quasi:
            parts = self._parts.pop(name)
            of, had = _pairs(parts)
            if attribute.quasi == "numeric":
                quasi[name] = Band(*_band(parts), of, had)
            else:
                quasi[name] = Node(_joined([part.node for part in parts], np.int32), self._trees[name], of, had)
        passed = {name: each.done() for name, each in self._passed.items()}
        moment = Band(*_band(self._moments)) if self._moment is not None else None
        listed = [*quasi, *passed, *([self._moment] if self._moment is not None else [])]
        absent = [name for name in listed if name not in self._seen and self._rows]
        spare = {name: count for name, each in self._spare.items() if (count := each.count())}
        spare |= {name: count for name, each in self._passed.items() if (count := each.spare(passed[name]))}
        return Published(quasi, passed, moment, list(self._unlisted), absent, spare, self._rows)


def _band(parts: list[Part]) -> tuple[Floats, Floats]:
    return _joined([part.lo for part in parts], np.float64), _joined([part.hi for part in parts], np.float64)


def _pairs(parts: list[Part]) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    if all(part.of is None and part.had is None for part in parts):
        return None, None
    rows = [max(len(part.lo), len(part.node)) for part in parts]
    none = [np.full(count, NO_PAIR, np.int32) for count in rows]
    of = [empty if part.of is None else part.of for part, empty in zip(parts, none, strict=True)]
    had = [empty if part.had is None else part.had for part, empty in zip(parts, none, strict=True)]
    return _joined(of, np.int32), _joined(had, np.int32)


def _joined(parts: list[NDArray[Any]], kind: type[np.generic]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, kind)
