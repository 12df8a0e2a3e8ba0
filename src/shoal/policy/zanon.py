"""The parameters of z-anonymity, which releases or withholds at once instead of holding a window."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from shoal.config import Count, FrozenModel, Span, name, number, refusal, whole

SHORTEST = 0.001  # seconds

FIXED, TUNED = "[fixed]", "[tuned]"  # the two ways to write z, as steps of a place in pydantic's errors; they are not shown


def _inside(value: object) -> float:
    share = number(value)
    if not 0 < share < 1:
        raise refusal("lies outside 0 to 1; 0.95 is a usual choice")
    return share


def _window(value: float) -> float:
    if 0 < value < SHORTEST:
        raise refusal("is below 1ms; use 0 or at least 1ms")
    return float(value)


def _secret(value: object, info: ValidationInfo) -> str:
    """The absolute path of a file inside the policy's folder; its content is read when it is needed."""
    file, folder = name(value), (info.context or {}).get("folder")
    if folder is None:
        raise refusal("is a file, but the policy has no folder; give a folder, or set SHOAL_SECRET")
    try:
        path, home = (folder / file).resolve(), folder.resolve()
    except (OSError, ValueError, RuntimeError):
        raise refusal("cannot be a file; correct the name") from None
    if Path(file).is_absolute() or not path.is_relative_to(home):
        raise refusal("lies outside the policy's folder; move it inside and name it from there")
    return str(path)


class Auto(FrozenModel):
    """The goal of a z that follows the stream."""

    k: Annotated[int, Field(ge=2), BeforeValidator(whole)] = Field(description="the users who must publish the same")
    probability: Annotated[
        float, PlainValidator(_inside), WithJsonSchema({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1})
    ] = Field(description="the share of the users for whom this should hold")


class Tuned(FrozenModel):
    """A z that follows the stream."""

    auto: Auto = Field(description="the goal, such as {k: 2, probability: 0.95}")
    floor: Count = Field(default=5, description="the smallest z")


def _written(value: object) -> str:
    return TUNED if isinstance(value, Mapping | Tuned) else FIXED


class Zanon(FrozenModel):
    """z-anonymity."""

    name: Literal["zanon"] = Field(description="the algorithm's name")
    z: Annotated[Annotated[Count, Tag(FIXED)] | Annotated[Tuned, Tag(TUNED)], Discriminator(_written)] = Field(
        description="the number of users who must have exposed an item within the window, such as 20, or {auto: …, floor: 5}"
    )
    window: Annotated[Span, AfterValidator(_window)] = Field(
        description="how far back users are counted, and how long a pseudonym lasts, such as 1h"
    )
    withheld: Literal["drop", "blank"] = Field(
        default="drop", description="a withheld observation: drop it, or blank: publish it without its item"
    )
    secret_file: Annotated[str, PlainValidator(_secret), WithJsonSchema({"type": "string"})] | None = Field(
        default=None, description="a file in the policy's folder with the secret of the pseudonyms; default SHOAL_SECRET"
    )

    @model_validator(mode="after")
    def _long_enough(self) -> Zanon:
        if self.window == 0 and isinstance(self.z, Tuned):
            raise refusal(("window", "is 0, in which no z can be found; use a longer one, or a fixed z"))
        return self
