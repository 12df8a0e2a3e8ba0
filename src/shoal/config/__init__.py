"""Configuration files, such as policies: YAML, frozen models with their scalars, and what is wrong with them in plain words."""

from shoal.config.model import (
    REFUSED,
    Amount,
    Closeness,
    Count,
    Few,
    Flag,
    FrozenModel,
    Limit,
    Name,
    Place,
    Positive,
    Seconds,
    Several,
    Share,
    Span,
    Weight,
    dotted,
    flag,
    missing,
    name,
    nearest,
    nested_owner,
    number,
    problems,
    refusal,
    span,
    unknown,
    whole,
)
from shoal.config.yaml_text import quoted_name, read_yaml, yaml_scalar

__all__ = [
    "REFUSED", "Amount", "Closeness", "Count", "Few", "Flag", "FrozenModel", "Limit", "Name", "Place", "Positive", "Seconds",
    "Several", "Share", "Span", "Weight", "dotted", "flag", "missing", "name", "nearest", "nested_owner", "number", "problems",
    "quoted_name", "read_yaml", "refusal", "span", "unknown", "whole", "yaml_scalar",
]  # fmt: skip
