"""Blocks of a stable attribute, drafted once from a sample or from a distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath

import numpy as np

from shoal.columns import column, texts
from shoal.config import read_yaml, yaml_scalar
from shoal.errors import InputError
from shoal.formats import detected, open_reader
from shoal.infer.entry import flow
from shoal.infer.sample import RARE
from shoal.policy import Hierarchy, canonical, lowest_nodes

MOST = 0.5
"""The largest share of its block that a value should have."""


@dataclass(frozen=True)
class BlockDraft:
    """Blocks, and what they leave of the information: all of it is 1."""

    blocks: tuple[tuple[str, ...], ...]
    kept: float  # the entropy of the blocks, as a share of that of the values
    guess: float  # how often the most frequent value of a block is right
    largest: float  # the largest share of its block that a value has
    rare: int = 0  # values of too few persons, which are not written down


def draft_blocks(
    shares: Mapping[str, float], least: int, most: float = MOST, hierarchy: Hierarchy | None = None, rare: int = 0
) -> BlockDraft:
    """Blocks of at least so many values, in which no value has more than a share of `most` where that can be had.

    Values of similar shares are put together: then each hides as well as it can, and a block needs few of them. With a
    hierarchy, values are put together only below its lowest nodes that have enough of them.

    >>> draft_blocks({"flu": 0.4, "cold": 0.3, "gout": 0.1, "acne": 0.1, "mumps": 0.1}, 2, most=0.6).blocks
    (('flu', 'cold'), ('acne', 'gout', 'mumps'))
    """
    if len(shares) < least:
        raise InputError(f"there are {len(shares)} values, fewer than {least}; lower the number, or use as: bag")
    blocks = [tuple(block) for part in _parts(shares, least, hierarchy) for block in _cut(part, shares, least, most)]
    return BlockDraft(tuple(blocks), *_measured(blocks, shares), rare)


def _parts(shares: Mapping[str, float], least: int, tree: Hierarchy | None) -> list[list[str]]:
    """The values that may share a block."""
    if tree is None:
        return [[*shares]]
    lines = [line for line in tree.lines() if line[0] in shares]
    nodes = lowest_nodes(Hierarchy.of(lines), least) if len(lines) >= least else None
    others = [value for value in shares if value not in tree.code]
    if nodes is None:
        return [[*shares]]
    parts = [list(block) for block in nodes.values]
    if len(others) >= least:
        return [*parts, others]
    smallest = min(parts, key=len)
    smallest += others
    return parts


def _cut(values: Sequence[str], shares: Mapping[str, float], least: int, most: float) -> list[list[str]]:
    rest = sorted(values, key=lambda value: (-shares[value], value))
    found: list[list[str]] = []
    while rest:
        size = least
        while size < len(rest) and shares[rest[0]] > most * sum(shares[value] for value in rest[:size]):
            size += 1
        if len(rest) - size < least:
            size = len(rest)
        found.append(rest[:size])
        rest = rest[size:]
    return found


def _measured(blocks: Sequence[Sequence[str]], shares: Mapping[str, float]) -> tuple[float, float, float]:
    total = sum(shares.values())
    weights = [sum(shares[value] for value in block) / total for block in blocks]
    tops = [max(shares[value] for value in block) / total for block in blocks]
    entropy = _entropy([share / total for share in shares.values()])
    largest = max((top / weight for top, weight in zip(tops, weights, strict=True) if weight), default=1.0)
    return max(0.0, _entropy(weights) / entropy) if entropy else 0.0, sum(tops), largest


def _entropy(shares: Sequence[float]) -> float:
    return -sum(share * math.log(share) for share in shares if share > 0)


def shares_of(source: str | PathLike[str], field: str, person: str | None = None) -> tuple[dict[str, float], int]:
    """How frequent each value of a field is in a sample, and how many rare values are left out.

    Each person counts once for a value, if the field of persons is given. A value of fewer than five of them is not written
    down: it could single persons out, and is published as unlisted. The source may be a policy that gives a `distribution`.
    """
    path = fspath(source)
    if path.endswith((".yaml", ".yml")):
        return _given(path, field), 0
    fields = [field, *([person] if person else [])]
    found: dict[str, set[object]] = {}
    row = 0
    with open_reader(path, fields, dialect=detected(path).dialect) as reader:
        for block in reader:
            values = texts(column(block.batch, field), ("",)).to_pylist()
            persons = texts(column(block.batch, person), ("",)).to_pylist() if person else range(row, row + len(values))
            row += len(values)
            for value, each in zip(values, persons, strict=True):
                if value is not None and each is not None:
                    found.setdefault(value, set()).add(each)
    counts = {value: len(those) for value, those in found.items() if len(those) >= RARE}
    if not counts:
        raise InputError(f"{path}: '{field}' has no value that {RARE} persons have; correct the name of the field")
    total = float(np.sum(list(counts.values())))
    return {value: count / total for value, count in counts.items()}, len(found) - len(counts)


def _given(path: str, field: str) -> dict[str, float]:
    try:
        with open(path, encoding="utf-8-sig") as file:
            written = read_yaml(file.read())
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path}: cannot be read; check that it is a UTF-8 file") from None
    attributes = written.get("attributes") if isinstance(written, Mapping) else None
    attribute = attributes.get(field) if isinstance(attributes, Mapping) else None
    given = attribute.get("distribution") if isinstance(attribute, Mapping) else None
    if not isinstance(given, Mapping) or not all(isinstance(share, int | float) for share in given.values()):
        raise InputError(f"{path}: attributes.{field}.distribution: is missing; give it, or a sample of the data")
    return {canonical(value) or "": float(share) for value, share in given.items()}


def block_entry(field: str, found: BlockDraft) -> list[str]:
    """The lines of a policy that declare the blocks.

    >>> print("\\n".join(block_entry("ill", BlockDraft((("flu", "cold"), ("gout", "acne")), 0.5, 0.6, 0.6))))
    ill:
      sensitive: true
      stable: true
      as: block
      blocks:
        - [flu, cold]
        - [gout, acne]
    """
    lists = [flow("    - [", [yaml_scalar(value) for value in block]) for block in found.blocks]
    head = [f"{yaml_scalar(field)}:", "  sensitive: true", "  stable: true", "  as: block", "  blocks:"]
    return [*head, *(line for each in lists for line in each)]
