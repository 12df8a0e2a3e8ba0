"""A hierarchy that lacks values, made whole: what it lacks goes under a node of its own, to be sorted by hand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.errors import PolicyError

MARK = "UNSORTED"


def completed(lines: Sequence[Sequence[str]], values: Iterable[str], mark: str = MARK) -> list[list[str]]:
    """The same lines, and one for each value that is no leaf, under a marked node below the root.

    >>> completed([["Paris", "France", "Europe"]], ["Oslo", "Paris"])
    [['Paris', 'France', 'Europe'], ['Oslo', 'UNSORTED', 'Europe']]

    Raises
    ------
    PolicyError
        A value is the label of an inner node, and so cannot be a leaf.
    """
    leaves, inner = {line[0] for line in lines}, {label for line in lines for label in line[1:]}
    lacking = [value for value in dict.fromkeys(values) if value not in leaves]
    clash = sum(value in inner or value == mark for value in lacking)
    if clash:
        raise PolicyError([
            f"{clash:,} of the values are labels of inner nodes, and cannot be leaves too; rename those nodes, such as by "
            "writing 'all of …'"
        ])  # fmt: skip
    root = lines[0][-1]
    return [*map(list, lines), *([value, mark, root] for value in lacking)]
