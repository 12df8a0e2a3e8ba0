"""The sections of a policy but its attributes and its algorithm: window, privacy, time, item, sparse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema, model_validator

from shoal.config import Closeness, Count, Flag, FrozenModel, Name, Several, Span, number, refusal
from shoal.policy.accept import Accepted
from shoal.policy.attribute import Diverse, Tree
from shoal.policy.reason import PublishedTime

NOBODY = "none"  # the person of a policy under which every record is its own person
MOST_QUASI = 64  # quasi-identifiers that a policy may have: each is a bit of a 64-bit pattern
Kind = Literal["count", "time", "buffer"]
KINDS: tuple[Kind, ...] = ("count", "time", "buffer")
SUPPRESS = 1.0  # the window is not lengthened
MILLISECOND = 0.001
_ROUND = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # milliseconds
_ROUND_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400)
Suppressed = Literal["publish", "blank", "drop"]  # what becomes of suppressed rows


class Window(FrozenModel):
    """A deadline in arrivals (`count`) or seconds (`time`), or a number of tuples held (`buffer`).

    >>> window = Window(count=2000)
    >>> window.kind, window.length
    ('count', 2000.0)
    """

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    count: Count | None = Field(default=None, description="the largest number of arrivals that a tuple waits")
    time: Span | None = Field(default=None, description="the longest wait of a tuple, such as 30s")
    buffer: Count | None = Field(default=None, description="the largest number of waiting tuples; the wait is not bounded")

    @property
    def kind(self) -> Kind:
        """Which of the three it is."""
        return next(kind for kind in KINDS if getattr(self, kind) is not None)

    @property
    def length(self) -> float:
        """Its length: in seconds if its kind is `time`, else in arrivals."""
        return float(getattr(self, self.kind))

    @property
    def timed(self) -> bool:
        """Whether its length is in seconds."""
        return self.kind == "time"

    @model_validator(mode="after")
    def _one_kind(self) -> Window:
        kinds = [kind for kind in KINDS if getattr(self, kind) is not None]
        if not kinds:
            raise refusal("has no length; write one of count, time and buffer")
        if len(kinds) > 1:
            raise refusal(f"has more than one length ({', '.join(kinds)}); keep one")
        if self.time == 0:
            raise refusal(("time", "is not above 0; use a longer time"))
        return self


def round_grid(length: float) -> float:
    """The grid of published times for a window of so many seconds: the longest round duration of at most a tenth of it.

    >>> [round_grid(seconds) for seconds in (0.004, 3, 10, 90, 3600)]
    [0.001, 0.2, 1, 5, 300]
    """
    durations = (*(step / 1000 for step in _ROUND), *_ROUND_SECONDS)
    return max((each for each in durations if each * 10 <= length * (1 + 1e-9)), default=MILLISECOND)


class Privacy(FrozenModel):
    """What is promised: at least `k` persons in every group, and more on request.

    Under `maybe` a member shows null for a missing value; otherwise all members of a group show the same.
    """

    k: Count = Field(description="the smallest number of persons in a group")
    l: Diverse | None = Field(
        default=None, description="how diverse the sensitive values of a group must be: 3, {entropy: 3} or {recursive: [c, l]}"
    )
    t: Closeness | None = Field(
        default=None, description="how far the distribution of the sensitive values of a group may be from that of all: 0 to 1"
    )
    nulls_match: Literal["blurred", "extended", "root", "maybe"] = Field(
        default="blurred",
        description='if a member lacks a value: blurred: all show "or missing"; extended: all show null; root: all show '
        "the root; maybe: each row shows its own null",
    )
    min_support: Count | None = Field(
        default=None,
        description="under blurred (default 2) and maybe (1): if fewer persons of a group have a value, the root is published",
    )
    one_in_k: Flag = Field(
        default=True, description="no person has more than 1/k of the rows of a group, reuse included; false: as in the papers"
    )

    across: Several | None = Field(
        default=None,
        description="the smallest number of values in a block of stable attributes, such as 3",
    )

    accept: Accepted = Field(
        default={},
        description="the accepted success of an attack, by its name, such as {homogeneity: 5%}; above it the audit fails",
    )

    @model_validator(mode="after")
    def _fits(self) -> Privacy:
        if self.min_support is None:
            return self
        if self.min_support > 1 and self.nulls_match in ("extended", "root"):
            raise refusal(
                ("min_support", f"is for blurred and maybe; under {self.nulls_match} all of a group have it, remove it")
            )
        if self.min_support > self.k:
            raise refusal(("min_support", f"is above k={self.k}: nothing could be shown; use at most {self.k}"))
        return self

    @property
    def support(self) -> int:
        """How many persons of a group must have what it shows."""
        if self.min_support is not None:
            return self.min_support
        return min(2, self.k) if self.nulls_match == "blurred" else 1


class Time(FrozenModel):
    """The field that holds the event time, and how it is published."""

    field: Name = Field(description="the field that holds the event time")
    publish: PublishedTime = Field(
        default="drop",
        description='drop, keep (or {keep: true, because: "…"}), or generalize to one interval for all rows of a group',
    )
    grid: Span | None = Field(
        default=None, description="the ends of a generalized time are multiples of it; default about a tenth of a time window"
    )

    @model_validator(mode="after")
    def _fits(self) -> Time:
        if self.grid is None:
            return self
        if self.publish != "generalize":
            raise refusal(("grid", "is for publish: generalize; write that, or remove it"))
        if not self.grid >= MILLISECOND or abs(self.grid * 1000 - round(self.grid * 1000)) > 1e-6 * self.grid:
            raise refusal(("grid", "is not a whole number of milliseconds, at least one; round it"))
        return self


def _listed(value: object) -> object:
    if not isinstance(value, list | tuple) or not value:
        raise refusal("is not a list of fields; write it like [host, path]")
    return tuple(value)


class Item(FrozenModel):
    """The item that a user exposes: one field, or several together; and perhaps a hierarchy to generalize it.

    >>> Item(fields=("host", "path")).names
    ('host', 'path')
    """

    model_config = ConfigDict(json_schema_extra={"oneOf": [{"required": ["field"]}, {"required": ["fields"]}]})

    field: Name | None = Field(default=None, description="the field that holds the item")
    fields: Annotated[tuple[Name, ...], BeforeValidator(_listed)] | None = Field(
        default=None, description="several fields that make the item together"
    )
    hierarchy: Tree | None = Field(default=None, description="a file in the policy's folder, or a tree with one root")

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that make the item, in order."""
        return self.fields or ((self.field,) if self.field else ())

    @property
    def place(self) -> str:
        """The key of the policy that names them."""
        return "fields" if self.fields else "field"

    def plain(self) -> dict[str, Any]:
        """Its content, for a digest."""
        return {"fields": self.names, "hierarchy": self.hierarchy and self.hierarchy.lines()}

    @model_validator(mode="after")
    def _one_item(self) -> Item:
        problems = list(self._problems())
        if problems:
            raise refusal(*problems)
        return self

    def _problems(self) -> Iterator[str | tuple[str, str]]:
        if not self.names:
            yield "names no field; write field: … or fields: […]"
        if self.field and self.fields:
            yield "has both field and fields; keep one"
        if len(set(self.names)) < len(self.names):
            yield "fields", "names a field twice; keep one"
        if self.hierarchy and len(self.names) > 1:
            yield "hierarchy", "generalizes a single field; remove it, or name one field"


def _stretch(value: object) -> float:
    if value == "suppress":
        return SUPPRESS
    if isinstance(value, Mapping) and list(value) == ["stretch"]:
        times = number(value["stretch"])
        if times < 1:
            raise refusal(("stretch", "is below 1; use at least 1"))
        return times
    raise refusal("is not allowed; use suppress, or {stretch: 4} for a window up to 4 times as long")


Sparse = Annotated[
    float,
    PlainValidator(_stretch),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "suppress"},
                {"type": "object", "required": ["stretch"], "additionalProperties": False,
                 "properties": {"stretch": {"type": "number", "minimum": 1}}},
            ]
        }
    ),
]  # fmt: skip
