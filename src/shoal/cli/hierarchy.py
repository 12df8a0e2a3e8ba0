"""`shoal hierarchy`: build, show, check and complete the trees along which categories are generalized."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.failure import REFUSED, reported

if TYPE_CHECKING:
    from rich.tree import Tree as Drawing

    from shoal.policy import Hierarchy

EXAMPLES = """
\b
Examples:
  shoal hierarchy show countries
  shoal hierarchy build prefix --levels 3,2 --from people.csv --field zip > zip.csv
  shoal hierarchy check zip.csv people.csv --field zip
  shoal hierarchy complete city.csv people.csv --field city > whole.csv
"""
BUILD = """
\b
Examples:
  shoal hierarchy build bands --range 0,119 --levels 5,10,20 > age.csv
  shoal hierarchy build dates --range 2020-01-01,2025-12-31 > day.csv
  shoal hierarchy build prefix --levels 3,2 --from people.csv --field zip > zip.csv
  shoal hierarchy build networks --range 10.1.0.0/16 --levels 24,20 > address.csv
  shoal hierarchy build cells --range 48,2,49,3 --levels 0.1,0.5 > place.csv
  shoal hierarchy build icd10 --values codes.txt > diagnosis.csv
  shoal hierarchy build countries --by alpha-2 > country.csv
"""
SHOW = """
\b
Examples:
  shoal hierarchy show city.csv
  shoal hierarchy show countries --depth 2
  shoal hierarchy show policy.yaml --field city
"""
CHECK = """
\b
Examples:
  shoal hierarchy check city.csv
  shoal hierarchy check city.csv people.csv --field city --null NA
"""
COMPLETE = """
\b
Examples:
  shoal hierarchy complete city.csv people.csv --field city > whole.csv
  shoal hierarchy complete city.csv people.csv --field city --mark TODO > all.csv
"""

app = typer.Typer(
    name="hierarchy",
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Build, show, check and complete hierarchies of categories.",
    epilog=EXAMPLES,
)

Tree = Annotated[str, typer.Argument(help="A hierarchy file, or a name such as countries.", metavar="HIERARCHY")]
Data = Annotated[str, typer.Argument(help="Data as `shoal run` reads it.", metavar="DATA")]
Field = Annotated[str | None, typer.Option(help="The field of DATA that holds the values.", metavar="NAME")]
Nulls = Annotated[
    list[str] | None, typer.Option("--null", help="A text that means missing, besides the empty one.", metavar="TEXT")
]


@app.command(epilog=BUILD)
def build(
    name: Annotated[str, typer.Argument(help="A builder, or a ready hierarchy.", metavar="NAME")],
    levels: Annotated[str | None, typer.Option(help="The levels above the leaves, finest first.", metavar="A,B,…")] = None,
    range_: Annotated[
        str | None, typer.Option("--range", help="The leaves, from the first to the last.", metavar="A,B")
    ] = None,
    step: Annotated[float | None, typer.Option(help="The distance between two leaves of the range.", metavar="N")] = None,
    values: Annotated[str | None, typer.Option(help="A file with the leaves, one per line.", metavar="FILE")] = None,
    source: Annotated[str | None, typer.Option("--from", help="Data whose values are the leaves.", metavar="DATA")] = None,
    field: Field = None,
    null: Nulls = None,
    root: Annotated[str | None, typer.Option(help="The label of the root.", metavar="LABEL")] = None,
    by: Annotated[str | None, typer.Option(help="How a ready hierarchy writes its leaves.", metavar="WAY")] = None,
) -> None:
    """Write a hierarchy to standard output, one line per leaf.

    NAME is a builder (bands, dates, prefix, networks, cells, icd10) or a ready-made hierarchy (countries, education,
    occupation). With --from, the file contains all values of the field: protect it like the data.
    """
    with reported():
        from shoal.errors import PolicyError
        from shoal.hierarchies import READY
        from shoal.hierarchies import build as built
        from shoal.policy import Hierarchy

        given = {"levels": _listed(levels), "range": _range(name, range_), "step": step, "root": root, "by": by}
        given["values"] = _lines(values) if values else _of_data(source, field, null)
        if source and values:
            raise PolicyError(["values: are given, and --from too; keep one of them"])
        written = {key: value for key, value in given.items() if value is not None}
        _write(Hierarchy.of(built({"ready" if name in READY else "builder": name, **written})).lines())


@app.command(epilog=SHOW)
def show(
    tree: Annotated[str, typer.Argument(help="A hierarchy file, a ready name, or a policy.", metavar="HIERARCHY")],
    field: Annotated[str | None, typer.Option(help="The attribute of a policy.", metavar="NAME")] = None,
    depth: Annotated[int, typer.Option(help="How many levels to draw.", min=1, metavar="N")] = 4,
    width: Annotated[int, typer.Option(help="How many children of a node to draw.", min=1, metavar="N")] = 12,
) -> None:
    """Draw a hierarchy as a tree, root first, with the number of leaves below each node."""
    with reported():
        from shoal.cli.terminal import output

        output().print(_drawn(_of_policy(tree, field) if field else _read(tree), depth, width))


@app.command(epilog=CHECK)
def check(
    tree: Tree,
    data: Annotated[str | None, typer.Argument(help="Data to check it against.", metavar="DATA")] = None,
    field: Field = None,
    null: Nulls = None,
) -> None:
    """Check that a file is a tree, and that it has all values of a field. Status 0 without problems, 2 with."""
    with reported():
        from shoal.cli.terminal import output, say

        read, console = _read(tree), output()
        say(console, f"{tree}: {_counts(read)}")
        lacking = 0
        if data is not None:
            values = _of_data(data, field, null) or []
            lacking = sum(value not in read.code for value in values)
            inner = len({*read.labels[read.leaves :]}.intersection(values))
            line = f"{tree}: {lacking:,} of {len(values):,} values of {field!r} are no leaf"
            line += f", {inner:,} of them are inner nodes" if inner else ""
            say(console, line + ("; shoal hierarchy complete adds them" if lacking else ""))
    if lacking:
        raise typer.Exit(REFUSED)


@app.command(epilog=COMPLETE)
def complete(
    tree: Tree,
    data: Data,
    field: Annotated[str, typer.Option(help="The field of DATA that holds the values.", metavar="NAME")],
    mark: Annotated[str | None, typer.Option(help="The node to put them under.", metavar="LABEL")] = None,
    null: Nulls = None,
) -> None:
    """Write the hierarchy with all values of a field. Missing values are added below one new node, from which you move them.

    The result contains all values of the field: protect it like the data.
    """
    with reported():
        from shoal.cli.terminal import errors, say
        from shoal.hierarchies import MARK, completed
        from shoal.policy import Hierarchy

        before = _read(tree)
        lines = completed(before.lines(), _of_data(data, field, null) or [], mark or MARK)
        after = Hierarchy.of(lines)
        _write(lines)
        say(errors(), f"{tree}: {after.leaves - before.leaves:,} values added under {mark or MARK!r}")


def _read(name: str) -> Hierarchy:
    from pathlib import Path

    from shoal.hierarchies import READY
    from shoal.hierarchies import build as built
    from shoal.policy import Hierarchy, parse_file

    if name in READY or name == "icd10":
        return Hierarchy.of(built({"ready" if name in READY else "builder": name}))
    return parse_file(_bytes(name), Path(name).name)


def _drawn(tree: Hierarchy, depth: int, width: int) -> Drawing:
    """At most `depth` levels and `width` children of each node; the rest is counted."""
    from collections import defaultdict

    from rich.text import Text
    from rich.tree import Tree

    below: dict[int, list[int]] = defaultdict(list)
    for node, parent in enumerate(tree.parent.tolist()):
        below[parent].append(node)

    def label(node: int) -> Text:
        if node < tree.leaves:
            return Text(tree.labels[node])
        return Text.assemble((tree.labels[node], "bold"), (f"  {tree.last[node] - tree.first[node] + 1:,}", "dim"))

    def grow(node: int, levels: int) -> Tree:
        branch = Tree(label(node), guide_style="dim")
        children = sorted(below[node], key=lambda child: int(tree.first[child]))
        if levels == 1:
            return branch
        branch.children += [grow(child, levels - 1) for child in children[:width]]
        if len(children) > width:
            branch.add(Text(f"… {len(children) - width:,} more", "dim"))
        return branch

    return grow(tree.root, depth)


def _of_policy(path: str, field: str) -> Hierarchy:
    from shoal.errors import PolicyError
    from shoal.policy import Policy

    attribute = Policy.load(path).attributes.get(field)
    if attribute is None or attribute.hierarchy is None:
        raise PolicyError([f"{path}: {field!r} has no hierarchy; name a categorical quasi-identifier"])
    return attribute.hierarchy


def _of_data(source: str | None, field: str | None, nulls: list[str] | None) -> list[str] | None:
    from shoal.errors import InputError
    from shoal.files import distinct_values

    if source is None:
        return None
    if field is None:
        raise InputError("--field: is missing; name the field of the data that holds the values")
    return distinct_values(source, field, ("", *(nulls or ())))


def _bytes(path: str) -> bytes:
    from shoal.formats import opened

    with opened(path) as file:
        return file.readall()


def _lines(path: str) -> list[str]:
    from shoal.policy import decode

    return [line.strip() for line in decode(_bytes(path), path).splitlines() if line.strip()]


def _listed(text: str | None) -> list[Any] | None:
    return None if text is None else [_value(part.strip()) for part in text.split(",")]


def _range(name: str, text: str | None) -> Any:
    """As in a policy: codes and days are texts, a network is one text, everything else is numbers."""
    if text is None or name == "networks":
        return text
    return [part.strip() for part in text.split(",")] if name in ("dates", "prefix") else _listed(text)


def _value(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def _counts(tree: Hierarchy) -> str:
    inner = len(tree.labels) - tree.leaves
    deep = {len(line) for line in tree.lines()}
    levels = f"{min(deep)} to {max(deep)}" if len(deep) > 1 else str(max(deep))
    return f"{tree.leaves:,} leaves, {inner:,} inner nodes, {levels} levels, root {tree.labels[tree.root]!r}"


def _write(lines: list[list[str]]) -> None:
    import csv
    import sys

    csv.writer(sys.stdout, delimiter=";", lineterminator="\n").writerows(lines)
