"""The leaves of a hierarchy and the values of a sample: trees that a rule builds, and the values that a tree lacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from shoal.config import read_yaml
from shoal.errors import InputError, PolicyError
from shoal.hierarchies import build, is_named
from shoal.lab.form import FormField, Short
from shoal.lab.policy_text import flow_text, parse_number
from shoal.lab.sample import MOST_LEAVES, Sample
from shoal.lab.tree_text import parse_tree as from_text
from shoal.lab.tree_text import tree_text
from shoal.policy import Hierarchy
from shoal.policy import parse_tree as tree

_TEXTS = ("prefix", "dates")  # builders whose range is written as texts


class Rule(BaseModel):
    """A builder or a ready-made hierarchy, as the boxes of the page have it."""

    model_config = ConfigDict(extra="forbid")

    name: Short
    levels: Annotated[str, Field(max_length=200, description="between commas, the finest first")] = ""
    range: Annotated[str, Field(max_length=200, description="its ends between commas; empty: the values of the sample")] = ""
    by: Short = ""

    def written(self) -> dict[str, Any]:
        """As a policy writes it.

        >>> Rule(name="prefix", levels="3, 2", range="00000, 99999").written()
        {'builder': 'prefix', 'levels': [3, 2], 'range': ['00000', '99999']}
        >>> Rule(name="countries", by="alpha-2").written()
        {'ready': 'countries', 'by': 'alpha-2'}
        """
        if self.by:
            return {"ready": self.name, "by": self.by}
        levels, ends = _between_commas(self.levels), _between_commas(self.range)
        found: dict[str, Any] = {"builder": self.name}
        if levels:
            found["levels"] = levels if self.name == "dates" else [parse_number(each) for each in levels]
        if ends:
            numbers = ends if self.name in _TEXTS else [parse_number(each) for each in ends]
            found["range"] = ends[0] if self.name == "networks" else numbers
        return found


def built(sample: Sample, name: str, rule: Rule) -> FormField:
    """A field with the hierarchy of a rule: the rule itself if it has a range, else the tree over the values of the sample.

    Raises PolicyError if the rule does not fit the values, InputError if there are too many.
    """
    written = rule.written()
    if "ready" in written or "range" in written or rule.name == "icd10":
        build(written)
        return FormField(name=name, role="categorical", builder=flow_text(written))
    values, rare = sample.frequent(name)
    if not values:
        raise InputError(f"'{name}': has no value that several persons have; give the rule a range")
    found = Hierarchy.of(build({**written, "values": values}))
    return FormField(name=name, role="categorical", tree=tree_text(found), lenient=bool(rare) or not sample.complete)


def written_out(builder: str) -> str:
    """The tree of a builder, as text. Raises InputError if it is too large to be edited."""
    found = _hierarchy(FormField(name="", builder=builder))
    if found.leaves > MOST_LEAVES:
        raise InputError(
            f"the tree has {found.leaves:,} leaves, more than {MOST_LEAVES:,} cannot be edited here; keep the rule"
        )
    return tree_text(found)


def lacking(sample: Sample, entry: FormField) -> dict[str, Any]:
    """The values of the sample that are no leaf of the field's hierarchy, and how many rare values are not named.

    Raises PolicyError if there is no hierarchy.
    """
    leaves = _hierarchy(entry).code
    values, rare = sample.frequent(entry.name)
    return {"values": [value for value in values if value not in leaves], "rare": rare}


def _hierarchy(entry: FormField) -> Hierarchy:
    written: Any = from_text(entry.tree) if entry.tree.strip() else read_yaml(entry.builder)
    if not isinstance(written, Mapping):
        raise PolicyError(["hierarchy: is in a file of the policy's folder; load that file"])
    return Hierarchy.of(build(dict(written))) if is_named(written) else tree(written)


def _between_commas(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
