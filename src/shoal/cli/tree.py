"""A hierarchy drawn in the terminal."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from shoal.cli.figures import count

if TYPE_CHECKING:
    from shoal.policy import Hierarchy


def drawn(tree: Hierarchy, depth: int, width: int) -> Tree:
    """So many levels and so many children of each node; what is not drawn is counted."""
    below: dict[int, list[int]] = defaultdict(list)
    for node, parent in enumerate(tree.parent.tolist()):
        below[parent].append(node)

    def grow(node: int, levels: int) -> Tree:
        branch = Tree(_label(tree, node), guide_style="dim")
        children = sorted(below[node], key=lambda child: int(tree.first[child]))
        if levels == 1:
            return branch
        for child in children[:width]:
            branch.children.append(grow(child, levels - 1))
        if len(children) > width:
            branch.add(Text(f"… {count(len(children) - width)} more", "dim"))
        return branch

    return grow(tree.root, depth)


def _label(tree: Hierarchy, node: int) -> Text:
    leaves = int(tree.last[node] - tree.first[node]) + 1
    if node < tree.leaves:
        return Text(tree.labels[node])
    return Text.assemble((tree.labels[node], "bold"), (f"  {count(leaves)}", "dim"))
