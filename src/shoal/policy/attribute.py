"""An attribute of the records and its role."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, JsonValue, PlainValidator, ValidationInfo, WithJsonSchema, model_validator

from shoal.config import Closeness, FrozenModel, Positive, number, refusal
from shoal.errors import PolicyError
from shoal.hierarchies import SCHEMA, is_named
from shoal.policy.canonical import canonical
from shoal.policy.hierarchy import Hierarchy
from shoal.policy.hierarchy_forms import built, load_file, parse_tree
from shoal.policy.sensitive import Distribution, Diverse

Role = Literal["numeric", "categorical", "sensitive", "kept"]

_SMALLEST = 1e-270
_NUMERIC, _CATEGORICAL, _SENSITIVE = "numeric quasi-identifiers", "categorical quasi-identifiers", "sensitive attributes"
_OPTIONS = {
    "range": ("numeric", _NUMERIC),
    "grid": ("numeric", _NUMERIC),
    "out_of_range": ("numeric", _NUMERIC),
    "hierarchy": ("categorical", _CATEGORICAL),
    "unknown": ("categorical", _CATEGORICAL),
    "l": ("sensitive", _SENSITIVE),
    "t": ("sensitive", _SENSITIVE),
    "distribution": ("sensitive", _SENSITIVE),
}
_FORMS: dict[str, JsonValue] = {
    "oneOf": [
        {"properties": {"quasi": {"const": "numeric"}}, "required": ["quasi", "range"]},
        {"properties": {"quasi": {"const": "categorical"}}, "required": ["quasi", "hierarchy"]},
        {"required": ["sensitive"]},
        {"required": ["publish"]},
    ]
}
_NO_FOLDER = "is a file, but the policy has no folder; give a folder or write the tree inline"


def _ends(value: object) -> tuple[float, float]:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise refusal("is not a pair; write [lowest, highest]")
    low, high = number(value[0]), number(value[1])
    if not low < high:
        raise refusal("its low end is not below its high end; write [lowest, highest]")
    if not math.isfinite(high - low):
        raise refusal("is too wide for floating point; narrow it")
    return low, high


def _tree(value: object, info: ValidationInfo) -> Hierarchy:
    try:
        match value:
            case Hierarchy():
                return value
            case str() if value.strip():
                folder = (info.context or {}).get("folder")
                if folder is None:
                    raise refusal(f"{value} {_NO_FOLDER}")
                return load_file(value, folder)
            case Mapping() if is_named(value):
                return built(value, (info.context or {}).get("folder"))
            case Mapping():
                return parse_tree(value)
    except PolicyError as error:
        raise refusal(*error.problems) from None
    raise refusal("is neither a file nor a tree; name a file in the policy's folder or write a mapping with one root")


def _mark(value: object) -> bool:
    if value is not True:
        raise refusal("is not allowed; use true")
    return True


Mark = Annotated[bool, PlainValidator(_mark), WithJsonSchema({"const": True})]
Range = Annotated[
    tuple[float, float],
    PlainValidator(_ends),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}),
]
Tree = Annotated[Hierarchy, PlainValidator(_tree), WithJsonSchema(SCHEMA)]


class Attribute(FrozenModel):
    """A quasi-identifier, a sensitive attribute, or one that is kept as it is."""

    model_config = ConfigDict(json_schema_extra=_FORMS)

    quasi: Literal["numeric", "categorical"] | None = Field(
        default=None, description="numeric or categorical: a quasi-identifier, published generalized"
    )
    range: Range | None = Field(default=None, description="the lowest and the highest value there can be")
    grid: Positive | None = Field(default=None, description="published ends are rounded outward to multiples of it")
    out_of_range: Literal["reject", "clip"] = Field(default="reject", description="what becomes of a value outside the range")
    hierarchy: Tree | None = Field(default=None, description="a file in the policy's folder, or a tree with one root")
    unknown: Literal["reject", "root"] = Field(default="reject", description="what becomes of a value that is no leaf")
    sensitive: Mark = Field(default=False, description="true: published as it is")
    l: Diverse | None = Field(default=None, description="how much its values differ in a group; privacy.l if absent")
    t: Closeness | None = Field(default=None, description="how far its values in a group may be from all; privacy.t if absent")
    distribution: Distribution | None = Field(
        default=None, description="what t compares with: every value with its share; the accepted input so far if absent"
    )
    publish: Literal["keep"] | None = Field(default=None, description="keep: published as it is")

    @property
    def role(self) -> Role:
        """The one role this attribute has."""
        return self.quasi or ("sensitive" if self.sensitive else "kept")

    @property
    def low(self) -> float:
        """The lowest value of a numeric quasi-identifier."""
        return self.range[0] if self.range else math.nan

    @property
    def high(self) -> float:
        """The highest value of a numeric quasi-identifier."""
        return self.range[1] if self.range else math.nan

    @property
    def _finest(self) -> float:
        """The least grid of which floating point tells all multiples in the range apart, and holds the fraction."""
        return max(-self.low, self.high, _SMALLEST) / 2**53

    @model_validator(mode="after")
    def _one_role(self) -> Attribute:
        problems = list(self._problems())
        if problems:
            raise refusal(*problems)
        return self

    def _problems(self) -> Iterator[str | tuple[str, str]]:
        roles = [key for key in ("quasi", "sensitive", "publish") if getattr(self, key)]
        if not roles:
            yield "has no role; write quasi: numeric, quasi: categorical, sensitive: true or publish: keep"
            return
        if len(roles) > 1:
            yield f"has more than one role ({', '.join(roles)}); keep one"
            return
        for option, (role, whose) in _OPTIONS.items():
            if option in self.model_fields_set and role != self.role:
                yield option, f"applies to {whose} only; remove it"
        if self.quasi == "numeric" and self.range is None:
            yield "range", "is missing; write [lowest, highest]"
        if self.quasi == "categorical" and self.hierarchy is None:
            yield "hierarchy", "is missing; name a file in the policy's folder or write a mapping with one root"
        if self.range and self.grid and self.grid > self.high - self.low:
            yield "grid", f"is wider than the range; use at most {canonical(self.high - self.low)}"
        elif self.range and self.grid and self.grid < self._finest:
            yield "grid", f"is too fine for the range in floating point; use at least {canonical(self._finest)}"
