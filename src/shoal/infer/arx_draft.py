"""A policy drafted from the settings of an ARX project."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path, PurePath

from shoal.config import quoted_name, yaml_scalar
from shoal.errors import InputError
from shoal.infer.arx import Attribute, Criterion, Project, project
from shoal.infer.draft import K, placeholder
from shoal.infer.entry import Entry, flow, prose
from shoal.policy import Hierarchy, Privacy

_SHOWN = 20
_WINDOW = 50


def from_arx(source: str | PathLike[str], hierarchies: str | PathLike[str] | None = None) -> str:
    """A policy as commented YAML, of what a project file of ARX says; what is not carried over is named.

    With a folder for the hierarchies, the policy names them as files beside it; without, they are written inline. Raises
    InputError if the project cannot be read, or a hierarchy's file is there already.
    """
    path = fspath(source)
    found = project(path)
    files = {} if hierarchies is None else _written(Path(hierarchies), found)
    entries = [_entry(attribute, files.get(attribute.name)) for attribute in found.attributes]
    active = [entry for entry in entries if entry.active and "quasi:" in "".join(entry.settings)]
    project_name = quoted_name(PurePath(path).name)
    lines = [
        *prose(f"A draft by `shoal infer --from-arx`, from the project {project_name}. Go through it before use."),
        *prose(
            "A # that one space follows begins a comment; any other # hides a setting. Afterwards: shoal check POLICY INPUT"
        ),
        "",
        *prose(_persons(found)),
        "person: none",
        "",
        *prose('Texts that mean missing. ARX writes them as "*" or NULL where data lack them; list what yours has.'),
        'nulls: ["", "NULL"]',
        "",
        "attributes:",
        *(line for entry in (entries if active else [placeholder(set()), *entries]) for line in entry.lines("  ")),
        "",
        *_privacy(found),
    ]
    return "\n".join(lines) + "\n"


def _persons(found: Project) -> str:
    identifying = [quoted_name(attribute.name) for attribute in found.attributes if attribute.role == "identifying"]
    more = f" The project calls identifying: {', '.join(identifying[:_SHOWN])}." if identifying else ""
    return f"In ARX each row is a person. If persons come back in your stream, name the field that tells them apart.{more}"


def _entry(attribute: Attribute, file: str | None) -> Entry:
    name, quoted = attribute.name, quoted_name(attribute.name)
    match attribute.role:
        case "sensitive":
            return Entry("Sensitive in ARX.", [f"{yaml_scalar(name)}: {{sensitive: true}}"], active=True)
        case "kept":
            return Entry("Insensitive in ARX: published as it is.", [f"{yaml_scalar(name)}: {{publish: keep}}"], active=True)
        case "identifying":
            return Entry(f"{quoted} is left out: identifying in ARX.")
    if attribute.hierarchy is None:
        why = (
            "its hierarchy is no tree, since a label has two parents or stands on two levels"
            if attribute.broken
            else "it has no hierarchy"
        )
        return Entry(
            f"{quoted} is left out, but is quasi-identifying: {why}. Give it a hierarchy, or quasi: numeric with its range."
        )
    facts = [f"Quasi-identifying in ARX, as {attribute.datatype or 'text'}."]
    facts += ["Some levels are forbidden there, which is not carried over."] * attribute.limited
    facts += ["It is aggregated there, which is not carried over."] * attribute.aggregated
    tree = [f"  hierarchy: {yaml_scalar(file)}"] if file else ["  hierarchy:", *_tree(attribute.hierarchy)]
    return Entry(" ".join(facts), [f"{yaml_scalar(name)}:", "  quasi: categorical", *tree], active=True)


def _tree(tree: Hierarchy) -> Iterator[str]:
    """A tree as YAML; the leaves below a node are one list."""
    below: dict[int, list[int]] = {}
    for node in sorted(range(tree.root), key=lambda node: (int(tree.first[node]), node)):
        below.setdefault(int(tree.parent[node]), []).append(node)

    def branch(node: int, indent: str) -> Iterator[str]:
        label, children = yaml_scalar(tree.labels[node]), below.get(node, [])
        if not children:
            yield f"{indent}{label}: {label}"
        elif all(child < tree.leaves for child in children):
            yield from flow(f"{indent}{label}: [", [yaml_scalar(tree.labels[child]) for child in children])
        else:
            yield f"{indent}{label}:"
            for child in children:
                yield from branch(child, f"{indent}  ")

    yield from branch(tree.root, "    ")


def _privacy(found: Project) -> Iterator[str]:
    known = {
        kind: [each for each in found.criteria if each.kind == kind] for kind in ("k", "distinct", "entropy", "recursive", "t")
    }
    k = max((int(each.value) for each in known["k"]), default=K)
    keys = [f"k: {k}"]
    if not known["k"]:
        yield from prose("DECIDE k: the project asks for no k-anonymity.")
    asked = [*_diversity(known), *([f"t: {min(each.value for each in known['t']):g}"] if known["t"] else [])]
    for setting in asked:
        if setting[0] in Privacy.model_fields:
            keys.append(setting)
        else:
            yield from prose(f"The project asks for {setting[0]} too ({setting}), which this version does not know.")
    lost = [each.text for each in found.criteria if not each.kind]
    lost += [f"suppression of at most a part of {found.outliers} of the records"] if found.outliers else []
    lost += ["weights of attributes"] if found.weighted else []
    if lost:
        yield from prose(f"Not carried over: {'; '.join(_shortened(text) for text in lost[:_SHOWN])}.")
    yield f"privacy: {{{', '.join(keys)}}}"
    yield ""
    yield from prose(f"The most arrivals a record waits: {_WINDOW} times k. ARX takes all data at once, and knows no window.")
    yield f"window: {{count: {_WINDOW * k}}}"


def _diversity(known: dict[str, list[Criterion]]) -> Iterator[str]:
    """The strictest of each kind; a policy takes one."""
    if known["recursive"]:
        hardest = max(known["recursive"], key=lambda each: (each.value, -each.c))
        yield f"l: {{recursive: [{hardest.c:g}, {hardest.value:g}]}}"
    elif known["entropy"]:
        yield f"l: {{entropy: {max(each.value for each in known['entropy']):g}}}"
    elif known["distinct"]:
        yield f"l: {max(each.value for each in known['distinct']):g}"


def _shortened(text: str) -> str:
    """On one line, and not too long."""
    return " ".join(text.split())[:120]


def _written(folder: Path, found: Project) -> dict[str, str]:
    """Write the hierarchies into the folder; the file of each attribute."""
    files: dict[str, str] = {}
    for attribute in found.attributes:
        if attribute.hierarchy is None or attribute.role != "quasi":
            continue
        stem = re.sub(r"\W+", "-", attribute.name).strip("-") or "hierarchy"
        name = stem
        while f"{name}.csv" in files.values():
            name += "-"
        files[attribute.name] = f"{name}.csv"
        try:
            with (folder / f"{name}.csv").open("x", encoding="utf-8", newline="") as file:
                csv.writer(file, delimiter=";", lineterminator="\n").writerows(attribute.hierarchy.lines())
        except FileExistsError:
            raise InputError(f"{folder / name}.csv: is there already; remove it, or name another folder") from None
        except OSError:
            raise InputError(f"{folder}: cannot be written to; name a folder that is there") from None
    return files
