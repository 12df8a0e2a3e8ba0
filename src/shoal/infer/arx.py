"""Projects of ARX, and policies drafted from them.

A project is an archive with XML files that say what was set, and hierarchies as CSV files. Only the parts that ARX writes as
text are read, neither the data in the archive nor its Java objects. Nothing is unpacked to disk.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from os import PathLike, fspath
from pathlib import Path, PurePath
from typing import NamedTuple
from xml.etree import ElementTree

from shoal.config import quoted_name, yaml_scalar
from shoal.errors import InputError, PolicyError
from shoal.infer.attribute import K
from shoal.infer.draft import placeholder
from shoal.infer.entry import NEXT, Entry, flow, prose
from shoal.policy import Hierarchy, Privacy

LARGEST = 64 << 20  # the most bytes of a part of the archive

ROLES = {
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "kept",
    "IDENTIFYING_ATTRIBUTE": "identifying",
}
_FOR = r" for attribute '(?P<attribute>.*)'"
_CRITERIA = {
    "k": re.compile(r"(?P<value>\d+)-anonymity"),
    "distinct": re.compile(rf"distinct-(?P<value>\d+)-diversity{_FOR}"),
    "entropy": re.compile(rf"(?:shannon-)?entropy-(?P<value>\d+(?:\.\d+)?)-diversity{_FOR}"),
    "recursive": re.compile(rf"recursive-\((?P<c>\d+(?:\.\d+)?),(?P<value>\d+)\)-diversity{_FOR}"),
    "t": re.compile(rf"(?P<value>\d+(?:\.\d+)?)-closeness with (?:equal|hierarchical|ordered)[ \w-]*{_FOR}"),
}


class Attribute(NamedTuple):
    """An attribute of the project."""

    name: str
    role: str
    datatype: str
    hierarchy: Hierarchy | None
    broken: bool  # whether it has a hierarchy that is no tree
    limited: bool  # whether some of its levels are forbidden
    aggregated: bool


class Criterion(NamedTuple):
    """A privacy model; `kind` is empty if it is not known."""

    kind: str
    value: float
    c: float
    text: str


class Project(NamedTuple):
    """What a project says."""

    attributes: list[Attribute]
    criteria: list[Criterion]
    outliers: str  # the part of the records that may be suppressed, as it is written
    weighted: bool


def project(path: str) -> Project:
    """The settings of a project file."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _project(path, archive)
    except FileNotFoundError:
        raise InputError(f"{path}: does not exist; correct the path") from None
    except (OSError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        raise InputError(f"{path}: is not an archive of ARX, or is damaged; save the project again") from None


def _project(path: str, archive: zipfile.ZipFile) -> Project:
    definition = _xml(path, archive, "input/definition.xml")
    config = _xml(path, archive, "input/config.xml")
    if definition is None or config is None:
        raise InputError(f"{path}: has no input/definition.xml and input/config.xml; give a project that was saved by ARX")
    settings = _xml(path, archive, "project.xml")
    separator = (settings.findtext("separator") if settings is not None else None) or ";"
    criteria = [_criterion((each.text or "").strip()) for each in config.iterfind("criteria/criterion")]
    return Project(
        [_attribute(path, archive, each, separator[:1]) for each in definition.iterfind("assigment")],
        criteria,
        (config.findtext("relativeMaxOutliers") or "").strip(),
        config.find("attributeWeights/attributeWeight") is not None,
    )


def _attribute(path: str, archive: zipfile.ZipFile, each: ElementTree.Element, separator: str) -> Attribute:
    def text_of(key: str) -> str:
        return (each.findtext(key) or "").strip()

    hierarchy, broken = None, False
    if text_of("ref"):
        data = _part(path, archive, f"input/{text_of('ref')}")
        try:
            hierarchy = None if data is None else _tree(_decoded(data), separator)
        except (PolicyError, csv.Error):
            broken = True
    return Attribute(
        text_of("name"), ROLES.get(text_of("type"), "identifying"), text_of("datatype"), hierarchy, broken,
        limited=any(text_of(end) not in ("", "All") for end in ("min", "max")),
        aggregated=each.find("microAggregationFunction") is not None,
    )  # fmt: skip


def _tree(text: str, separator: str) -> Hierarchy:
    """The hierarchy of a file; if its lines end with different labels, under `*`, which ARX shows for a suppressed value."""
    lines = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row]
    if len({line[-1] for line in lines}) > 1:
        lines = [[*line, "*"] for line in lines]
    return Hierarchy.of(lines)


def _criterion(text: str) -> Criterion:
    """A privacy model by its text.

    >>> _criterion("5-anonymity")[:2], _criterion("recursive-(4.0,3)-diversity for attribute 'ill'")[:3]
    (('k', 5.0), ('recursive', 3.0, 4.0))
    >>> _criterion("0.2-closeness with hierarchical ground-distance for attribute 'ill'")[:2], _criterion("(1.0, 0.1)-DP")[0]
    (('t', 0.2), '')
    """
    for kind, pattern in _CRITERIA.items():
        found = pattern.fullmatch(text)
        if found:
            return Criterion(kind, float(found["value"]), float(found.groupdict().get("c") or 0), text)
    return Criterion("", 0, 0, text)


def _xml(path: str, archive: zipfile.ZipFile, name: str) -> ElementTree.Element | None:
    data = _part(path, archive, name)
    if data is None:
        return None
    text = _decoded(data)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{path}: {name} declares entities, which ARX does not; it is not read")
    try:
        return ElementTree.fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except ElementTree.ParseError:
        raise InputError(f"{path}: {name} is not XML; save the project again") from None


def _part(path: str, archive: zipfile.ZipFile, name: str) -> bytes | None:
    try:
        part = archive.getinfo(name)
    except KeyError:
        return None
    if part.file_size <= LARGEST:
        with archive.open(part) as file:
            data = file.read(LARGEST + 1)
        if len(data) <= LARGEST:
            return data
    raise InputError(f"{path}: a part of it is larger than {LARGEST >> 20} MB; it is not read")


def _decoded(data: bytes) -> str:
    """ARX writes in whatever encoding its machine has."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


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
        *prose(f"A draft by `shoal infer --from-arx`, from the project {project_name}. Read all of it before you use it."),
        *prose("A # before a space begins a comment. Any other # disables a setting: remove the # to enable it."),
        NEXT,
        "",
        *prose(_persons(found)),
        "person: none",
        "",
        *prose('Texts that mean missing. ARX writes "*" or NULL; list the texts of your data.'),
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
    more = f" Identifying in the project: {', '.join(identifying[:_SHOWN])}." if identifying else ""
    return f"In ARX each row is a person. If persons come back in your stream, name the field that identifies them.{more}"


def _entry(attribute: Attribute, file: str | None) -> Entry:
    name, quoted = attribute.name, quoted_name(attribute.name)
    match attribute.role:
        case "sensitive":
            return Entry("Sensitive in ARX.", [f"{yaml_scalar(name)}: {{sensitive: true}}"], active=True)
        case "kept":
            return Entry("Insensitive in ARX: published unchanged.", [f"{yaml_scalar(name)}: {{publish: keep}}"], active=True)
        case "identifying":
            return Entry(f"{quoted} is left out: identifying in ARX.")
    if attribute.hierarchy is None:
        why = (
            "its hierarchy is not a tree: a label has two parents, or is on two levels"
            if attribute.broken
            else "it has no hierarchy"
        )
        return Entry(
            f"{quoted} is left out, but is quasi-identifying: {why}. Give it a hierarchy, or quasi: numeric with its range."
        )
    facts = [f"Quasi-identifying in ARX, as {attribute.datatype or 'text'}."]
    facts += ["ARX forbids some levels; this is not carried over."] * attribute.limited
    facts += ["ARX aggregates it; this is not carried over."] * attribute.aggregated
    tree = [f"  hierarchy: {yaml_scalar(file)}"] if file else ["  hierarchy:", *_tree_lines(attribute.hierarchy)]
    return Entry(" ".join(facts), [f"{yaml_scalar(name)}:", "  quasi: categorical", *tree], active=True)


def _tree_lines(tree: Hierarchy) -> Iterator[str]:
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
        yield from prose("DECIDE k: the project does not ask for k-anonymity.")
    asked = [*_diversity(known), *([f"t: {min(each.value for each in known['t']):g}"] if known["t"] else [])]
    for setting in asked:
        if setting[0] in Privacy.model_fields:
            keys.append(setting)
        else:
            yield from prose(f"The project also asks for {setting[0]} ({setting}), which this version does not know.")
    lost = [each.text for each in found.criteria if not each.kind]
    lost += [f"the limit of suppressed records, a share of {found.outliers}"] if found.outliers else []
    lost += ["weights of attributes"] if found.weighted else []
    if lost:
        yield from prose(f"Not carried over: {'; '.join(_shortened(text) for text in lost[:_SHOWN])}.")
    yield f"privacy: {{{', '.join(keys)}}}"
    yield ""
    yield from prose(
        f"A record waits for at most this many arrivals: {_WINDOW} times k. ARX reads all data at once, and has no window."
    )
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
            raise InputError(f"{folder / name}.csv: already exists; remove it, or name another folder") from None
        except OSError:
            raise InputError(f"{folder}: cannot be written to; name an existing folder") from None
    return files
