"""Attributes and short streams for the tests of the twins."""

from __future__ import annotations

from typing import Any

from naive import Arrival, Categorical, Numeric, Release
from shoal.conformance.naive.common import Row

TEN = Numeric(0.0, 10.0)
GENDER = Categorical({"Male": ("Male", "Gender"), "Female": ("Female", "Gender")})
EDUCATION_7 = Categorical(
    {leaf: (leaf, "School", "Education") for leaf in ("Primary", "Middle", "High", "Vocational")}
    | {leaf: (leaf, "University", "Education") for leaf in ("Bachelor", "Master", "Ph.D")}
)
EDUCATION_5 = Categorical(
    {leaf: (leaf, "Secondary", "Education") for leaf in ("Mid-school", "High-school")}
    | {leaf: (leaf, "University", "Education") for leaf in ("Bachelor", "Master", "Ph.D")}
)


def row(number: int, *values: Any, person: Any = None) -> Row:
    return Row(number, number, number if person is None else person, values)


def people(*values: Any) -> list[Arrival]:
    return [Arrival(n, v if isinstance(v, tuple) else (v,)) for n, v in enumerate(values)]


def brief(releases: list[Release]) -> list[tuple]:
    return [(r.row, r.how, r.cluster, r.generalization[0] if r.generalization else None, r.released) for r in releases]
