"""An attribute of the records, its role, and what is required of sensitive values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from shoal.column_types import SEPARATOR
from shoal.config import Closeness, Count, FrozenModel, Positive, number, refusal, whole
from shoal.errors import PolicyError
from shoal.hierarchies import SCHEMA, is_named
from shoal.policy.canonical import canonical
from shoal.policy.generalize import Generalize, Sets, Values, flat
from shoal.policy.hierarchy import Hierarchy, built, load_file, parse_tree
from shoal.policy.reason import Kept, Reason, because
from shoal.policy.stable import BAG, ShownAs, WrittenBlocks

_FORM = "write a number, {entropy: l} or {recursive: [c, l]}"
_SUM = 1e-6


class Diversity(NamedTuple):
    """What l-diversity requires of the sensitive values of a group.

    - `distinct`: at least l different values.
    - `entropy`: e to the entropy of their distribution is at least l.
    - `recursive`: with r1 the count of the most frequent value, r2 of the next and so on, r1 < c * (r_l + r_l+1 + ...).
    """

    kind: Literal["distinct", "entropy", "recursive"]
    l: float
    c: float = 0.0


def _diversity(value: object) -> Diversity:
    match value:
        case Diversity():
            return value
        case Mapping() if list(value) == ["entropy"]:
            return Diversity("entropy", _least(number(value["entropy"])))
        case Mapping() if list(value) == ["recursive"]:
            pair = value["recursive"]
            if not isinstance(pair, list | tuple) or len(pair) != 2:
                raise refusal(("recursive", "is not a pair; write [c, l]"))
            c = number(pair[0])
            if not c > 0:
                raise refusal(("recursive", "its c is not above 0; use more than 0"))
            return Diversity("recursive", _least(whole(pair[1])), c)
        case Mapping():
            raise refusal(f"is no diversity; {_FORM}")
    return Diversity("distinct", _least(whole(value)))


def _least(bound: float) -> float:
    if bound < 1:
        raise refusal("is below 1; use at least 1")
    return bound


def _distribution(value: object) -> dict[str, float]:
    if not isinstance(value, Mapping) or not value:
        raise refusal("is not a mapping; write every value with its share, such as {flu: 0.7, cold: 0.3}")
    shares: dict[str, float] = {}
    for key, share in value.items():
        text = canonical(key)
        if not text or text in shares:
            raise refusal("names a value twice, or none; write each value once")
        shares[text] = number(share)
        if shares[text] < 0:
            raise refusal("has a share below 0; use at least 0")
    if abs(sum(shares.values()) - 1) > _SUM:
        raise refusal("its shares do not add up to 1; correct them")
    return shares


Diverse = Annotated[
    Diversity,
    PlainValidator(_diversity),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "object", "required": ["entropy"], "additionalProperties": False,
                 "properties": {"entropy": {"type": "number", "minimum": 1}}},
                {"type": "object", "required": ["recursive"], "additionalProperties": False,
                 "properties": {"recursive": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}}},
            ]
        }
    ),
]  # fmt: skip
Distribution = Annotated[
    dict[str, float],
    PlainValidator(_distribution),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "number", "minimum": 0}, "minProperties": 1}),
]


class Requirement(NamedTuple):
    """What is required of one sensitive attribute."""

    name: str
    l: Diversity | None
    t: float | None
    distribution: Mapping[str, float] | None  # None: that of the accepted input so far


Role = Literal["numeric", "categorical", "sensitive", "kept"]

_SMALLEST = 1e-270
_NUMERIC, _CATEGORICAL, _SENSITIVE = "numeric quasi-identifiers", "categorical quasi-identifiers", "sensitive attributes"
_OPTIONS = {
    "range": ("numeric", _NUMERIC),
    "grid": ("numeric", _NUMERIC),
    "part": ("numeric", _NUMERIC),
    "out_of_range": ("numeric", _NUMERIC),
    "values": ("categorical", _CATEGORICAL),
    "generalize": ("categorical", _CATEGORICAL),
    "l": ("sensitive", _SENSITIVE),
    "t": ("sensitive", _SENSITIVE),
    "distribution": ("sensitive", _SENSITIVE),
    "because": ("sensitive", _SENSITIVE),
    "stable": ("sensitive", _SENSITIVE),
}
_STABLE = {"shown_as": "as", "blocks": "blocks", "bag": "bag"}  # keys that only stable attributes have
_FORMS: dict[str, JsonValue] = {
    "oneOf": [
        {"properties": {"quasi": {"const": "numeric"}}, "required": ["quasi", "range"]},
        {"properties": {"quasi": {"const": "categorical"}}, "required": ["quasi", "hierarchy"]},
        {"properties": {"quasi": {"const": "categorical"}}, "required": ["quasi", "values"]},
        {"required": ["sensitive"]},
        {"required": ["publish"]},
    ]
}
NO_BLOCKS = "blocks: is missing; write lists of values, a mapping, a file, or a hierarchy; shoal blocks drafts them"
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


def _named_null(value: object) -> object:
    return "null" if value is None else value


Unknown = Annotated[
    Literal["reject", "root", "unlisted", "null"],
    BeforeValidator(_named_null),
    WithJsonSchema({"enum": ["reject", "root", "unlisted", "null", None]}),
]
Mark = Annotated[bool, PlainValidator(_mark), WithJsonSchema({"const": True})]
Range = Annotated[
    tuple[float, float],
    PlainValidator(_ends),
    WithJsonSchema({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}),
]
Tree = Annotated[Hierarchy, PlainValidator(_tree), WithJsonSchema(SCHEMA)]


class Attribute(FrozenModel):
    """A quasi-identifier, a sensitive attribute, or a kept attribute."""

    model_config = ConfigDict(json_schema_extra=_FORMS)

    quasi: Literal["numeric", "categorical"] | None = Field(
        default=None, description="numeric or categorical: a quasi-identifier, published generalized"
    )
    range: Range | None = Field(default=None, description="the smallest and the largest possible value")
    grid: Positive | None = Field(default=None, description="published ends are rounded outward to multiples of it")
    part: Literal["year"] | None = Field(default=None, description="year: the field holds dates, and the year is used")
    out_of_range: Literal["reject", "clip"] = Field(
        default="reject", description="a value outside the range: reject the record, or clip the value"
    )
    hierarchy: Tree | None = Field(default=None, description="a file in the policy's folder, or a tree with one root")
    values: Values | None = Field(
        default=None, description="all possible values, if there is no hierarchy; published as sets unless generalize is node"
    )
    unknown: Unknown = Field(
        default="reject",
        description="a value that is not a leaf: reject (default) or root; a value in no block: unlisted (default) or null",
    )
    generalize: Generalize | None = Field(
        default=None,
        description="node: a group shows the lowest node over its values; set, or {set: {most: 5, min_support: 2}}: the values",
    )
    sensitive: Mark = Field(default=False, description="true: published as it is")
    stable: Mark = Field(default=False, description="true: a person's value hardly changes; `as` says how it is published")
    shown_as: ShownAs | None = Field(
        default=None,
        alias="as",
        description="of a stable attribute: block (default with privacy.across), bag or exact",
    )
    blocks: WrittenBlocks | None = Field(
        default=None, description="lists of values, a mapping of names to lists, or a file in the policy's folder"
    )
    bag: Count | None = Field(default=None, description="of `as: bag`: the smallest number of values in a bag; default 2000")
    l: Diverse | None = Field(default=None, description="how diverse its values must be in a group; default privacy.l")
    t: Closeness | None = Field(
        default=None, description="how far its distribution in a group may be from that of all; default privacy.t"
    )
    distribution: Distribution | None = Field(
        default=None, description="what t compares with: every value with its share; default the accepted input so far"
    )
    because: Reason | None = Field(
        default=None, description="why a sensitive attribute may be published although its values single out persons"
    )
    publish: Kept | None = Field(
        default=None, description='keep: published as it is; {keep: true, because: "…"}: although its values single out persons'
    )

    @property
    def role(self) -> Role:
        """The one role this attribute has."""
        return self.quasi or ("sensitive" if self.sensitive else "kept")

    @property
    def reason(self) -> str | None:
        """Why it is published as it is, if the policy says so."""
        return self.because or because(self.publish)

    @property
    def low(self) -> float:
        """The lowest value of a numeric quasi-identifier."""
        return self.range[0] if self.range else math.nan

    @property
    def high(self) -> float:
        """The highest value of a numeric quasi-identifier."""
        return self.range[1] if self.range else math.nan

    @property
    def sets(self) -> Sets | None:
        """How sets of values are published; None if the attribute is published as single nodes, or is not categorical."""
        given = self.generalize or (Sets() if self.values else None)
        return given if isinstance(given, Sets) else None

    @property
    def _finest(self) -> float:
        """The least grid of which floating point tells all multiples in the range apart, and holds the fraction."""
        return max(-self.low, self.high, _SMALLEST) / 2**53

    @model_validator(mode="before")
    @classmethod
    def _spelled_in_full(cls, written: object) -> object:
        """`set: {most: 5}` is short for `generalize: {set: {most: 5}}`."""
        if not isinstance(written, Mapping) or "set" not in written or "generalize" in written:
            return written
        others = {key: value for key, value in written.items() if key != "set"}
        return {**others, "generalize": {"set": written["set"]}}

    @model_validator(mode="after")
    def _one_role(self) -> Attribute:
        problems = list(self._problems())
        if problems:
            raise refusal(*problems)
        if self.values is not None and self.hierarchy is None:
            object.__setattr__(self, "hierarchy", flat(self.values))
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
        yield from self._stable_problems()
        if self.quasi == "numeric" and self.range is None:
            yield "range", "is missing; write [lowest, highest]"
        if self.quasi == "categorical" and self.hierarchy is None and self.values is None:
            yield (
                "hierarchy",
                "is missing; name a file in the policy's folder, write a mapping with one root, or list its values: [a, b]",
            )
        if self.values is not None and "hierarchy" in self.model_fields_set:
            yield "values", "are the leaves of the hierarchy; keep one of the two"
        if self.sets and any(SEPARATOR in label for label in self.values or (self.hierarchy and self.hierarchy.labels) or ()):
            yield "generalize", f"a label has {SEPARATOR!r}, which CSV puts between the values of a set; rename it, or use node"
        if self.range and self.grid and self.grid > self.high - self.low:
            yield "grid", f"is wider than the range; use at most {canonical(self.high - self.low)}"
        elif self.range and self.grid and self.grid < self._finest:
            yield "grid", f"is too fine for the range in floating point; use at least {canonical(self._finest)}"

    def _stable_problems(self) -> Iterator[tuple[str, str]]:
        given = self.model_fields_set
        is_block = self.stable and self.shown_as in (None, "block")
        for option in ("hierarchy", "unknown"):
            if option in given and self.role != "categorical" and not is_block:
                yield option, f"applies to {_CATEGORICAL} and to as: block only; remove it"
        for option, key in _STABLE.items():
            if option in given and not self.stable:
                yield key, "is for stable attributes; add stable: true, or remove it"
        if self.stable and "blocks" in given and not is_block:
            yield "blocks", "is for as: block; write that, or remove it"
        if self.stable and "bag" in given and self.shown_as != "bag":
            yield "bag", "is for as: bag; write that, or remove it"
        if is_block and self.blocks and self.hierarchy:
            yield "hierarchy", "makes blocks too; keep it or blocks"
        if is_block and "unknown" in given and self.unknown not in ("unlisted", "null"):
            yield "unknown", "is not allowed here; use unlisted or null"
        if self.quasi == "categorical" and self.unknown in ("unlisted", "null"):
            yield "unknown", "is not allowed here; use reject or root"
        if self.shown_as == "bag":
            yield from ((key, "looks at the rows of a group, which show nothing of a bag; remove it")
                        for key in ("l", "t", "distribution") if key in given)  # fmt: skip

    @property
    def bag_size(self) -> int:
        """The fewest values of a bag."""
        return self.bag or BAG
