"""The real Adult data."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

import shoal
from infer.base import published
from shoal.checks import check
from shoal.infer import draft
from shoal.policy import Policy

COLUMNS = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country income"
)
NEAR = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(scope="module")
def adult(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = Path(os.environ.get("SHOAL_DATA", NEAR)) / "adult" / "adult.data.gz"
    if not source.is_file():
        pytest.skip("the Adult data is absent; let SHOAL_DATA name the folder that holds adult/adult.data.gz")
    with gzip.open(source, "rt") as file:
        lines = file.read().replace(", ", ",").split("\n")
    path = tmp_path_factory.mktemp("adult") / "adult.csv"
    path.write_text("\n".join([COLUMNS.replace(" ", ","), *filter(None, lines)]) + "\n")
    return path


def test_the_draft_of_all_rows(adult: Path, tmp_path: Path) -> None:
    text = draft(adult, rows=100_000)
    policy = Policy.parse(text)
    assert set(published(policy)) == set(COLUMNS.split()) - {"fnlwgt", "capital-gain", "capital-loss", "income"}
    assert policy.attributes["age"].range == (15, 95)
    assert policy.attributes["hours-per-week"].range == (0, 100)
    assert policy.nulls == ("",)
    assert {name for name in policy.attributes if "?" in policy.nulls_of(name)} == {"workclass", "occupation", "native-country"}
    assert "Holand-Netherlands" not in text
    assert shoal.run(policy, adult, tmp_path / "out.csv").rejected == 0
    assert check(policy, adult).ok


def test_a_sample_holds_for_what_follows(adult: Path) -> None:
    assert check(Policy.parse(draft(adult, rows=5000)), adult, rows=100_000).ok


def test_a_file_without_a_header(adult: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text(adult.read_text().split("\n", 1)[1])
    policy = Policy.parse(draft(bare))
    assert policy.input.header[:2] == ("column_1", "column_2")
