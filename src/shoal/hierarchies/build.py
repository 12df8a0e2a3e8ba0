"""A builder as a policy or a command names it, with what it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

from shoal.errors import PolicyError
from shoal.hierarchies.bands import Bands
from shoal.hierarchies.cells import Cells
from shoal.hierarchies.dates import Dates
from shoal.hierarchies.icd10 import Icd10
from shoal.hierarchies.networks import Networks
from shoal.hierarchies.prefix import Prefix
from shoal.hierarchies.ready import ready
from shoal.hierarchies.rule import Rule, Unfit

BUILDERS: dict[str, type[Rule]] = {rule.NAME: rule for rule in (Bands, Dates, Prefix, Networks, Cells, Icd10)}
ROOT = "any"
_MOST = 10


def is_named(written: Mapping[Any, Any]) -> bool:
    """Whether a mapping names a builder, or a hierarchy that is ready, rather than being a tree itself.

    >>> is_named({"builder": "bands", "levels": [5]}), is_named({"builder": ["a", "b"]})
    (True, False)
    """
    return any(isinstance(written.get(key), str) for key in ("builder", "ready"))


def build(written: Mapping[str, Any]) -> list[list[str]]:
    """The lines, each from a leaf to the root, of a builder over its values, or else over its range.

    >>> build({"builder": "prefix", "levels": [2], "values": ["7501", "7502", "69"]})
    [['7501', '75*', 'any'], ['7502', '75*', 'any'], ['69', '69*', 'any']]

    Raises
    ------
    PolicyError
        All that is wrong with the first thing that is.
    """
    if "ready" in written:
        return ready(written)
    name = written["builder"]
    if name not in BUILDERS:
        near = get_close_matches(str(name), BUILDERS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise PolicyError([f"builder: there is no such one; known are {', '.join(BUILDERS)}{hint}"])
    known = ("builder", "values", "root", *BUILDERS[name].KEYS)
    unknown = [f"{key}: unknown key of the builder {name}; known are {', '.join(known)}" for key in written if key not in known]
    if unknown:
        raise PolicyError(unknown)
    rule = BUILDERS[name](written)
    return _lines(rule, _values(rule, written), _root(written))


def _values(rule: Rule, written: Mapping[str, Any]) -> Iterable[str]:
    values = written.get("values")
    if values is None:
        values = rule.leaves()
    elif "range" in written:
        raise PolicyError(["values: are given, and a range too; keep one of them"])
    if values is None:
        raise PolicyError(["has no leaves; give a range, or list the values under values or in a file that it names"])
    if not isinstance(values, list | tuple):
        return values if not isinstance(values, str | Mapping) else [str(values)]
    if not values:
        raise PolicyError(["values: is empty; list some"])
    return [str(value).strip() for value in values]


def _root(written: Mapping[str, Any]) -> str:
    root = written.get("root", ROOT)
    if not isinstance(root, str) or not root.strip():
        raise PolicyError(["root: is no label; write a word, such as any"])
    return root.strip()


def _lines(rule: Rule, values: Iterable[str], root: str) -> list[list[str]]:
    lines, problems = [], []
    for place, value in enumerate(values, 1):
        try:
            lines.append([value, *rule.above(value), root])
        except Unfit as error:
            problems.append(f"values: number {place} {error} (withheld); correct it or take it out")
        if len(problems) == _MOST:
            break
    if problems:
        raise PolicyError(problems)
    return lines
