"""The ways to give a hierarchy in a policy: a file, a nested mapping, or a builder with its settings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.errors import PolicyError
from shoal.hierarchies import build
from shoal.policy.canonical import canonical
from shoal.policy.hierarchy import Branches, Hierarchy

Branch = tuple[object, ...]


def load_file(name: str, folder: Path) -> Hierarchy:
    """The hierarchy of a file inside the policy's folder."""
    return parse_file(_read(name, folder), name)


def load_values(name: str, folder: Path) -> list[str]:
    """The values in a file inside the policy's folder, one per line."""
    return [line.strip() for line in decode(_read(name, folder), name).splitlines() if line.strip()]


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
        raise PolicyError([f"{name} is empty; write one line a leaf, leaf first, root last, ';' between"])
    branches.check(f"{name}, ")
    return Hierarchy.of_branches(branches)


def _read(name: str, folder: Path) -> bytes:
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
