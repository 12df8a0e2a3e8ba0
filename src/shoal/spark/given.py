"""What a user gives: a policy in any form, and a DataFrame with the columns that it names."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from shoal.config import read_yaml
from shoal.errors import InputError, PolicyError
from shoal.path import head
from shoal.policy import Policy

_DOT = "\u2024"
"""Stands for a dot in the name of a column on its way to Python, since pyspark would look for a field there."""


def given_policy(given: Policy | Mapping[str, Any] | str | PathLike[str]) -> Policy:
    """The policy that is given as itself, as a mapping, as a YAML text or as a path.

    >>> text = "{person: pid, attributes: {a: {quasi: numeric, range: [0, 9]}}, privacy: {k: 2}, window: {count: 4}}"
    >>> given_policy(text) == given_policy(given_policy(text))
    True
    """
    if isinstance(given, Policy):
        return given
    if isinstance(given, Mapping) or (isinstance(given, str) and _is_text(given)):
        return Policy.parse(given)
    return Policy.load(given)


def _is_text(given: str) -> bool:
    """Whether it is the text of a policy; else it is a path.

    >>> [_is_text(given) for given in ("policy.yaml", "s3://lake/policy.yaml", "{person: pid}", "person: pid\\nprivacy: [")]
    [False, False, True, True]
    """
    if "\n" in given.strip():
        return True
    try:
        return isinstance(read_yaml(given), Mapping)
    except PolicyError:
        return False


def named_columns(df: DataFrame, policy: Policy) -> list[Column]:
    """The columns that a policy names.

    Raises
    ------
    InputError
        The DataFrame lacks one, or it is one of Spark Connect.
    """
    refuse_connect(df)
    return [F.col(f"`{name}`").alias(name.replace(".", _DOT)) for name in named(df, policy)]


def refuse_connect(df: DataFrame) -> None:
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise InputError("df: is a DataFrame of Spark Connect, which shoal does not support; use a session with a master")


def with_dots(names: list[str]) -> list[str]:
    """The names of columns as the policy has them."""
    return [name.replace(_DOT, ".") for name in names]


def named(df: DataFrame, policy: Policy) -> list[str]:
    names = list(dict.fromkeys(head(field) if field not in df.columns else field for field in policy.fields))
    absent = [name for name in names if name not in df.columns]
    if absent:
        raise InputError(f"{', '.join(absent)}: no such column; correct the policy or the DataFrame")
    return names
