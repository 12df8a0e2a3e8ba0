"""What a user exposes: the item of a transaction stream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, model_validator

from shoal.policy.attribute import Tree
from shoal.policy.part import Part, refusal
from shoal.policy.scalar import Name


def _listed(value: object) -> object:
    if not isinstance(value, list | tuple) or not value:
        raise refusal("is not a list of fields; write it like [host, path]")
    return tuple(value)


class Item(Part):
    """The field that holds the item, or several that make it together; with a hierarchy, what it can be generalized to.

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
        """The fields, in order."""
        return self.fields or ((self.field,) if self.field else ())

    @property
    def place(self) -> str:
        """The key that names them."""
        return "fields" if self.fields else "field"

    def plain(self) -> dict[str, Any]:
        """What decides the outcome."""
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
