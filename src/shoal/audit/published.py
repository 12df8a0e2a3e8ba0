"""The output as an outsider sees it, in every form that a format gives it; and its values as 64-bit keys."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from os import PathLike, fspath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from shoal.audit.blurred import apart
from shoal.audit.equality import Passed, Spare
from shoal.audit.files import Source, blocks
from shoal.audit.form import Forms, forms
from shoal.audit.manifest import Span
from shoal.audit.original import Tree
from shoal.audit.sets import Sets, member_table
from shoal.audit.values import Flags, Floats, Integers, Ints, distinct, is_text, joined, numbers, seconds
from shoal.errors import InputError
from shoal.policy import Attribute, Policy

NULL = -1
NO_NODE = -2
NO_PAIR = -1
_BAND = {"lo", "hi"}
_PAIR = {"value", "of", "had"}


class Part(NamedTuple):
    """A column of one block."""

    lo: Floats = np.empty(0)
    hi: Floats = np.empty(0)
    node: NDArray[np.int32] = np.empty(0, np.int32)
    of: NDArray[np.int32] | None = None
    had: NDArray[np.int32] | None = None
    doubt: Flags | None = None
    extra: tuple[str, ...] = ()

    @property
    def rows(self) -> int:
        return max(len(self.lo), len(self.node))


def paired(column: pa.Array, read: Callable[[pa.Array], Part]) -> Part:
    """A column whose values may have the counts of an imputed group."""
    names = {field.name for field in column.type} if pa.types.is_struct(column.type) else set()
    if "value" not in names:
        return read(column)
    fields = dict(zip((field.name for field in column.type), column.flatten(), strict=True))
    part = read(fields["value"])
    pair = [_counts(fields[name]) if name in fields else None for name in ("of", "had")]
    return part._replace(of=pair[0], had=pair[1], extra=(*part.extra, *sorted(names - _PAIR)))


def blurred(column: pa.Array, read: Callable[[pa.Array], Part], size: int) -> Part:
    """A column whose values may be in doubt; what is null or malformed is in none, and null in doubt is malformed."""
    found = apart(column, size)
    part = read(found.value)
    if size == 2:
        bad = found.bad | (found.doubt & np.isnan(part.lo))
        part = part._replace(lo=np.where(bad, math.inf, part.lo), hi=np.where(bad, -math.inf, part.hi))
        well = part.lo <= part.hi
    else:
        bad = found.bad | (found.doubt & (part.node == NULL))
        part = part._replace(node=np.where(bad, NO_NODE, part.node).astype(np.int32))
        well = part.node >= 0
    extra = found.extra if pa.types.is_struct(column.type) else part.extra
    return part._replace(doubt=found.doubt & well, extra=extra)


def _counts(column: pa.Array) -> NDArray[np.int32]:
    return np.nan_to_num(numbers(column).value, nan=NO_PAIR).astype(np.int32)


def bands(column: pa.Array, number: Callable[[pa.Array], Any] = numbers) -> Part:
    kind = column.type
    there = column.is_valid().to_numpy(zero_copy_only=False)
    extra: tuple[str, ...] = ()
    lo, hi = np.full(len(column), math.nan), np.full(len(column), math.nan)
    if pa.types.is_struct(kind):
        names = {field.name for field in kind}
        extra = tuple(sorted(names - _BAND))
        if names >= _BAND:
            fields = dict(zip((field.name for field in kind), column.flatten(), strict=True))
            lo, hi = number(fields["lo"]).value, number(fields["hi"]).value
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        pairs = pc.list_value_length(column).fill_null(0).to_numpy() == 2
        if (pairs == there).all():
            ends = number(column.flatten()).value
            lo[pairs], hi[pairs] = ends[::2], ends[1::2]
        else:
            return bands(pa.array([json.dumps(each) for each in column.to_pylist()]), number)
    elif is_text(kind):
        return _bands_of_texts(column, number)
    return Part(lo=np.where(there & np.isnan(lo), math.inf, lo), hi=np.where(there & np.isnan(hi), -math.inf, hi), extra=extra)


def _bands_of_texts(column: pa.Array, number: Callable[[pa.Array], Any]) -> Part:
    code, values = distinct(column)
    ends: list[Any] = []
    pairs: list[tuple[int, int]] = []
    extra: dict[str, None] = {}
    for raw in values.to_pylist():
        found, pair = _parsed(raw, extra)
        pairs.append(pair)
        ends.extend(found if isinstance(found, list) and len(found) == 2 else [None, None] if found is None else ["?", "?"])
    texts = pa.array([end if end is None or isinstance(end, str) else json.dumps(end) for end in ends], pa.string())
    value, bad = number(texts)
    lo, hi = np.append(value[::2], math.nan), np.append(value[1::2], math.nan)
    wrong = np.append(bad[::2] | bad[1::2] | (np.isnan(value[::2]) != np.isnan(value[1::2])), False)
    lo[wrong], hi[wrong] = math.inf, -math.inf
    of, had = _spread(pairs, code)
    return Part(lo=lo[code], hi=hi[code], of=of, had=had, extra=tuple(extra))


def _parsed(raw: str | bytes, extra: dict[str, None]) -> tuple[Any, tuple[int, int]]:
    """What a cell of text says, and its pair; a cell that is empty says nothing."""
    if not raw:
        return None, (NO_PAIR, NO_PAIR)
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
        return text.removeprefix("[").removesuffix("]").split(", "), (NO_PAIR, NO_PAIR)
    if isinstance(found, dict) and "value" in found:
        extra.update(dict.fromkeys(sorted(found.keys() - _PAIR)))
        return found["value"], (_whole(found.get("of")), _whole(found.get("had")))
    return found, (NO_PAIR, NO_PAIR)


def _whole(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else NO_PAIR


def _spread(pairs: list[tuple[int, int]], code: NDArray[np.int64]) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    if all(pair == (NO_PAIR, NO_PAIR) for pair in pairs):
        return None, None
    table = np.array([*pairs, (NO_PAIR, NO_PAIR)], np.int32)
    return table[code, 0], table[code, 1]


def moments(column: pa.Array) -> Part:
    return bands(column, seconds)


def nodes(nodes: dict[str, int]) -> Callable[[pa.Array], Part]:
    def read(column: pa.Array) -> Part:
        there = column.is_valid().to_numpy(zero_copy_only=False)
        if not is_text(column.type):
            return Part(node=np.where(there, NO_NODE, NULL).astype(np.int32))
        code, values = distinct(column)
        found, pairs = [], []
        extra: dict[str, None] = {}
        for raw in values.to_pylist():
            node, pair = _node(raw, nodes, extra)
            found.append(node)
            pairs.append(pair)
        of, had = _spread(pairs, code)
        return Part(node=np.array([*found, NULL], np.int32)[code], of=of, had=had, extra=tuple(extra))

    return read


def set_of(sets: Sets, blurs: bool) -> Callable[[pa.Array], Part]:
    """How a column of sets is read; null in a list says "or missing", which only some policies allow."""

    def read(column: pa.Array) -> Part:
        node, doubt, around = sets.read(column)
        extra = dict.fromkeys(key for whole in around for key in sorted(whole.keys() - _PAIR))
        pairs = [(_whole(whole.get("of")), _whole(whole.get("had"))) for whole in around]
        of, had = _spread(pairs, np.arange(len(node))) if pairs else (None, None)
        shown = np.where(doubt & (not blurs), NO_NODE, node).astype(np.int32)
        return Part(node=shown, of=of, had=had, doubt=doubt & blurs, extra=tuple(extra))

    return read


def _node(raw: str | bytes, nodes: dict[str, int], extra: dict[str, None]) -> tuple[int, tuple[int, int]]:
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    if not text or text in nodes:
        return nodes.get(text, NULL), (NO_PAIR, NO_PAIR)
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(text), dict):
            value, pair = _parsed(text, extra)
            return nodes.get(value, NO_NODE) if isinstance(value, str) else NULL if value is None else NO_NODE, pair
    return NO_NODE, (NO_PAIR, NO_PAIR)


class Band(NamedTuple):
    """A numeric quasi-identifier as it was published, row by row."""

    lo: Floats  # NaN: null; above hi: what is there is no interval
    hi: Floats
    doubt: Flags  # whether it says "or missing"
    of: NDArray[np.int32] | None = None  # members and those of them that had a value, where a value is imputed
    had: NDArray[np.int32] | None = None  # NO_PAIR where the row has none; None where no row has one

    @property
    def null(self) -> Flags:
        return np.isnan(self.lo)


class Node(NamedTuple):
    """A categorical quasi-identifier as it was published, row by row."""

    node: NDArray[np.int32]  # NULL; NO_NODE: what is there is no node of the hierarchy; past the nodes: a set (`audit.sets`)
    tree: Tree
    doubt: Flags
    of: NDArray[np.int32] | None = None
    had: NDArray[np.int32] | None = None
    sets: tuple[tuple[int, ...], ...] = ()  # the nodes of each set
    member: Flags = np.zeros((0, 0), bool)  # by set: which leaves it has

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many leaves each node and each set has."""
        return np.append(self.tree.last - self.tree.first + 1, self.member.sum(axis=1)).astype(np.int64)

    def holds(self, node: Integers, leaf: Integers) -> Flags:
        """Whether nodes or sets have these leaves; the numbers of nodes are not negative."""
        is_set = node >= len(self.tree.first)
        plain = np.where(is_set, 0, node)
        inside: Flags = (self.tree.first[plain] <= leaf) & (leaf <= self.tree.last[plain])
        if len(self.sets):
            of_sets = self.member[np.where(is_set, node - len(self.tree.first), 0), np.maximum(leaf, 0)] & (leaf >= 0)
            inside = np.where(is_set, of_sets, inside)
        return inside

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
    forms: Mapping[str, Ints]  # rows that are written in another form than most, see `audit.form`
    written: Mapping[str, Ints]  # of fields that are passed through: which values are written in the same way, if known
    rows: int

    def at(self, keep: Flags) -> Published:
        """Some of the rows."""

        def only(column: Any) -> Any:
            parts = {
                name: each[keep] for name, each in column._asdict().items() if isinstance(each, np.ndarray) and name != "member"
            }
            return column._replace(**parts)  # `member` has a row per set, not per row

        place = np.cumsum(keep) - 1
        return self._replace(
            quasi={name: only(column) for name, column in self.quasi.items()},
            passed={name: column.filter(pa.array(keep)) for name, column in self.passed.items()},
            moment=self.moment and only(self.moment),
            forms={name: place[rows[keep[rows]]] for name, rows in self.forms.items()},
            written={name: code[keep] for name, code in self.written.items()},
            rows=int(keep.sum()),
        )


def published(
    policy: Policy, source: Source, trees: dict[str, Tree], on_rows: Callable[[int], None], span: Span | None = None
) -> Published:
    """Read an output as the policy says it looks."""
    reader = _Reader(policy, trees)
    rows = 0
    found = blocks(source)
    for block in found if span is None else span.output(found):
        rows += block.rows
        if block.end != rows:
            name = fspath(source) if isinstance(source, str | PathLike) else "output"
            bad = np.setdiff1d(np.arange(block.end), block.line)
            first = int(bad[bad >= rows - block.rows][0])
            raise InputError(f"{name}: row {first + 1} is malformed; give the output as it was written")
        reader.take(dict(block.columns), block.rows)
        on_rows(block.rows)
    moment = [policy.time.field] if policy.time and policy.time.publish == "generalize" else []
    odd, exact = forms(source, [*(name for name, _ in policy.quasi), *moment], policy.counted)
    if span is not None:
        begin = span.begin.sequence
        odd = {name: within - begin for name, each in odd.items() if len(within := span.rows(each))}
        exact = {name: code[begin : begin + rows] for name, code in exact.items()}
    return reader.done(Forms(odd, {name: code for name, code in exact.items() if len(code) == rows}))


class _Reader:
    def __init__(self, policy: Policy, trees: dict[str, Tree]) -> None:
        self._policy = policy
        self._trees = trees
        self._nodes = {name: tree.node_of() for name, tree in trees.items()}
        self._sets = {name: Sets(trees[name]) for name, attribute in policy.quasi if attribute.sets}
        shown = policy.time.publish if policy.time else "drop"
        field = policy.time.field if policy.time else ""
        self._moment = field if shown == "generalize" else None
        names = [*policy.kept, *([field] if shown == "keep" else [])]
        if policy.item and policy.person:
            names += [policy.person, *policy.item.names]
        self._passed = {name: Passed() for name in names}
        self._read: dict[str, Callable[[pa.Array], Part]] = {
            name: self._form(name, attribute) for name, attribute in policy.quasi
        }
        if self._moment is not None:
            self._read[self._moment] = moments
        self._parts: dict[str, list[Part]] = {name: [] for name in self._read}
        self._spare = {name: Spare(self._nodes.get(name, ())) for name in self._read}
        self._unlisted: dict[str, None] = {}
        self._seen: set[str] = set()
        self._rows = 0

    def _form(self, name: str, attribute: Attribute) -> Callable[[pa.Array], Part]:
        """How a quasi-identifier is read."""
        is_number = attribute.quasi == "numeric"
        if name in self._sets:
            return partial(paired, read=set_of(self._sets[name], self._policy.privacy.nulls_match == "blurred"))
        read = bands if is_number else nodes(self._nodes[name])
        if self._policy.privacy.nulls_match == "blurred":
            return partial(blurred, read=read, size=2 if is_number else 1)
        return partial(paired, read=read)

    def take(self, columns: dict[str, pa.Array], rows: int) -> None:
        self._seen.update(columns)
        self._rows += rows
        for name, read in self._read.items():
            column = columns.pop(name, pa.nulls(rows))
            self._spare[name].take(column)
            part = read(column)
            self._parts[name].append(part)
            self._unlisted.update(dict.fromkeys(f"{name}.{inner}" for inner in part.extra))
        for name, passed in self._passed.items():
            passed.take(columns.pop(name, pa.nulls(rows)))
        self._unlisted.update(dict.fromkeys(columns))

    def done(self, forms: Forms) -> Published:
        quasi: dict[str, Band | Node] = {}
        for name, attribute in self._policy.quasi:
            parts = self._parts.pop(name)
            of, had = _pairs(parts)
            if attribute.quasi == "numeric":
                quasi[name] = Band(*_band(parts), of, had)
            else:
                node, tree = joined([part.node for part in parts], np.int32), self._trees[name]
                sets = self._sets[name].members() if name in self._sets else ()
                quasi[name] = Node(node, tree, _doubts(parts), of, had, sets, member_table(tree, sets))
        passed = {name: each.done() for name, each in self._passed.items()}
        moment = Band(*_band(self._parts[self._moment])) if self._moment is not None else None
        absent = [name for name in (*quasi, *passed, *self._parts) if name not in self._seen and self._rows]
        spare = {name: count for name, each in self._spare.items() if (count := each.count())}
        spare |= {name: count for name, each in self._passed.items() if (count := each.spare(passed[name]))}
        return Published(quasi, passed, moment, list(self._unlisted), absent, spare, *forms, self._rows)


def _band(parts: list[Part]) -> tuple[Floats, Floats, Flags]:
    lo, hi = (joined(ends, np.float64) for ends in ([part.lo for part in parts], [part.hi for part in parts]))
    return lo, hi, _doubts(parts)


def _doubts(parts: list[Part]) -> Flags:
    return joined([np.zeros(part.rows, bool) if part.doubt is None else part.doubt for part in parts], np.bool_)


def _pairs(parts: list[Part]) -> tuple[NDArray[np.int32] | None, NDArray[np.int32] | None]:
    if all(part.of is None and part.had is None for part in parts):
        return None, None
    none = [np.full(part.rows, NO_PAIR, np.int32) for part in parts]
    of = [empty if part.of is None else part.of for part, empty in zip(parts, none, strict=True)]
    had = [empty if part.had is None else part.had for part, empty in zip(parts, none, strict=True)]
    return joined(of, np.int32), joined(had, np.int32)


Keys = NDArray[np.uint64]

NO_CLASS = -1
NULL_KEY = np.uint64(0)
_ODD = 0x9E3779B97F4A7C15
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def key(column: Band | Node, place: int) -> Keys:
    """A key for each published value of a quasi-identifier; 0 for null. `place` is that of the quasi-identifier.

    Sums of keys are keys of rows. Two of a million different rows share one with a chance below 1 in 10 million.
    """
    if isinstance(column, Band):
        found = mixed((column.lo + 0.0).view(np.uint64))
        found += (column.hi + 0.0).view(np.uint64)
    else:
        found = column.node.astype(np.uint64)
    if column.of is not None and column.had is not None:
        pair = column.of.astype(np.int64) << 32 | column.had.astype(np.int64)
        found = mixed(found) + np.where(column.of == NO_PAIR, 0, pair).view(np.uint64)
    if column.doubt.any():
        found = mixed(found) + column.doubt.astype(np.uint64)
    found = mixed(found + np.uint64((place + 1) * _ODD % 2**64)) | np.uint64(1)
    found[column.null] = NULL_KEY
    return found


def mixed(bits: Keys) -> Keys:
    """The finalizer of SplitMix64: every bit depends on every other."""
    found = bits ^ (bits >> np.uint64(30))
    found *= _FIRST
    found ^= found >> np.uint64(27)
    found *= _SECOND
    found ^= found >> np.uint64(31)
    return found


class Alike(NamedTuple):
    """Classes of equal rows, nulls equal to nulls."""

    of: NDArray[np.int32]  # the class of each row; NO_CLASS if it is suppressed
    nulls: NDArray[np.uint8]  # how many each row has


def keys(columns: Mapping[str, Band | Node]) -> Iterator[Keys]:
    """The keys of each quasi-identifier in turn."""
    return (key(column, place) for place, column in enumerate(columns.values()))


def alike(columns: Mapping[str, Band | Node], suppressed: Flags) -> Alike:
    """Which rows are equal in all of these quasi-identifiers."""
    total = np.zeros(len(suppressed), np.uint64)
    nulls = np.zeros(len(suppressed), np.uint8)
    for each in keys(columns):
        total += each
        nulls += each == NULL_KEY
    found = np.full(len(suppressed), NO_CLASS, np.int32)
    shown = np.flatnonzero(~suppressed)
    order = shown[np.argsort(total[shown])]
    values = total[order]
    found[order] = np.cumsum(np.append(False, values[1:] != values[:-1])[: len(order)])
    return Alike(found, nulls)
