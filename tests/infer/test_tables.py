"""Any table has a draft that holds, and that gives nothing away."""

from __future__ import annotations

import tempfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from infer.base import tokens, write
from shoal.errors import InputError
from shoal.infer import draft
from shoal.policy import Policy
from tests.examples import examples

NAMES = [
    "age",
    "sex",
    "city",
    "height",
    "pid",
    "id",
    "user_id",
    "ts",
    "date",
    "pulse",
    "diagnosis",
    "note",
    "birth",
    "x y",
]
NULLS = [None, "", "?", "NA", "unknown"]

whole = st.integers(-(10**6), 10**6)
decimal = st.floats(-1e9, 1e9).map(lambda number: round(number, 3))
word = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=8)
rare = st.integers(0, 30).map("zq{}x".format)
few = st.sampled_from(["a", "b", "c", "any", "no", "x: y", "1", "é"])


@st.composite
def columns(draw: st.DrawFn, rows: int, mixed: bool) -> list[Any]:
    kinds = [whole, decimal, few, st.integers(1, 6), word, rare] + ([st.one_of(whole, few), st.booleans()] if mixed else [])
    kind = draw(st.sampled_from(kinds))
    gaps = st.sampled_from(NULLS if mixed else [None])
    values = draw(st.lists(kind, min_size=rows, max_size=rows))
    places = draw(st.sets(st.integers(0, rows - 1), max_size=rows // 3))
    return [draw(gaps) if place in places else value for place, value in enumerate(values)]


@st.composite
def tables(draw: st.DrawFn, mixed: bool) -> list[dict[str, Any]]:
    rows = draw(st.integers(1, 40))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    data = {name: draw(columns(rows, mixed)) for name in names}
    return [{name: owned(data[name][row], name) for name in names} for row in range(rows)]


def owned(value: Any, name: str) -> Any:
    """A rare value belongs to one column: what is rare in one may be frequent, and so be named, in another."""
    return f"{value}-{name}" if str(value).startswith("zq") else value


def numeric(values: list[Any]) -> list[float]:
    return [float(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]


def digits(number: float) -> int:
    """How many digits it takes to write it, without zeros at either end."""
    return len(Decimal(repr(number)).normalize().as_tuple().digits)


def entry(text: str, name: str) -> str:
    """The lines of a draft that set what a field is."""
    lines = [line.strip().lstrip("#") for line in text.splitlines()]
    return "\n".join(line for line in lines if line.startswith(f"{name}: {{quasi: numeric"))


def holds(rows: list[dict[str, Any]], suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder), suffix, rows)
        text = draft(path)
        policy = Policy.parse(text)
        missing = policy.person is not None and "person_missing" in text
        out = Path(folder) / "out.jsonl"
        if set(policy.attributes) <= set(rows[0]):
            stats = shoal.run(policy, path, out)
            stated = {f"'{policy.person}': the person is missing; give one or set person_missing: own"} if missing else set()
            assert set(stats.reasons) <= stated
        else:
            with pytest.raises(InputError, match="to_be_decided"):
                shoal.run(policy, path, out)
    assert not policy.kept
    for name in rows[0]:
        values = [row[name] for row in rows]
        found = numeric(values)
        written = tokens(entry(text, name))
        if found and written:
            assert written[0] < min(found) <= max(found) < written[1]
        telling = {number for number in (min(found), max(found)) if digits(number) > 3} if found else set()
        assert name in policy.attributes or not telling & set(tokens(text))
        assert not [value for value in values if str(value).startswith("zq") and values.count(value) < 5 and value in text]


@examples(0.3)
@given(tables(mixed=True))
def test_the_draft_of_any_json_lines_holds(rows: list[dict[str, Any]]) -> None:
    holds(rows, ".jsonl")


@examples(0.3)
@given(tables(mixed=False))
def test_the_draft_of_any_parquet_file_holds(rows: list[dict[str, Any]]) -> None:
    try:
        pa.Table.from_pylist(rows)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return
    holds(rows, ".parquet")
