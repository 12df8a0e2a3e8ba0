"""What every part of a written policy has in common."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError

REFUSED = "refused"


class Part(BaseModel):
    """A frozen piece of a policy that knows no other keys than its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


def refusal(*problems: str | tuple[str, str]) -> PydanticCustomError:
    """The error with which a validator refuses: texts, or pairs of a key below the place and a text."""
    return PydanticCustomError(REFUSED, "refused", {"problems": tuple(_pairs(problems))})


def _pairs(problems: Iterable[str | tuple[str, str]]) -> Iterable[tuple[str, str]]:
    for problem in problems:
        yield ("", problem) if isinstance(problem, str) else problem
