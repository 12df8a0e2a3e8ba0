"""Data sets prepared from their downloads."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.datasets import ORIGINALS, adult, informs, originals, prepare, returning, trees
from shoal.errors import InputError

DATA = os.environ.get("SHOAL_DATA")
ROW = "39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, Cuba, <=50K\n"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """One row is the file that is known."""
    digest = hashlib.sha256(ROW.encode()).hexdigest()
    monkeypatch.setattr(
        originals, "ORIGINALS", {**ORIGINALS, "adult": replace(ORIGINALS["adult"], files={"adult.data": digest})}
    )


@pytest.mark.parametrize("packed", ["adult.data", "adult.data.gz", "adult.zip"])
def test_a_download_is_put_where_it_is_looked_for(known: None, packed: str, tmp_path: Path) -> None:
    source = tmp_path / packed
    if packed.endswith(".zip"):
        with zipfile.ZipFile(source, "w") as archive:
            archive.writestr("some folder/adult.data", ROW)
            archive.writestr("adult.names", "what is not known is left out")
    else:
        source.write_bytes(gzip.compress(ROW.encode()) if packed.endswith(".gz") else ROW.encode())
    (found,) = prepare("adult", [source], tmp_path / "data")
    assert found.known and found.file == "adult.data"
    assert adult.dataset(adult.folder(tmp_path / "data")).rows.num_rows == 1
    assert not (tmp_path / "data" / "adult" / "adult.names").exists()
    note = json.loads((tmp_path / "data" / "adult" / "source.json").read_text())
    assert note["licence"] == "CC BY 4.0" and note["files"] == [{"file": "adult.data", "sha256": found.sha256, "known": True}]


def test_another_file_is_refused_unless_it_is_accepted(tmp_path: Path) -> None:
    source = tmp_path / "adult.data"
    source.write_text(ROW)
    digest = hashlib.sha256(ROW.encode()).hexdigest()
    with pytest.raises(InputError) as caught:
        prepare("adult", [source], tmp_path / "data")
    assert str(caught.value) == (
        f"adult.data: is not the file that the figures of shoal were made from (SHA-256 {digest}, not "
        f"{ORIGINALS['adult'].files['adult.data']}); download it from https://archive.ics.uci.edu/dataset/2/adult again, or "
        "take it by --accept"
    )
    assert not (tmp_path / "data").exists()
    result = CliRunner().invoke(
        app, ["datasets", "prepare", "adult", str(source), "--data", str(tmp_path / "data"), "--accept"]
    )
    assert result.exit_code == 0
    assert f"adult.data: SHA-256 {digest} (not the file that the figures of shoal were made from)" in result.stdout


@pytest.mark.parametrize(
    ("name", "file", "said"),
    [
        ("moon", "adult.data", "data 'moon' is none; known are adult, informs, pm25, nafld, star"),
        (
            "adult",
            "adult.test",
            "adult: lacks adult.data; download it from https://archive.ics.uci.edu/dataset/2/adult and name it",
        ),
        ("adult", "absent.csv", "absent.csv: cannot be read; check the path, or download it again"),
        ("adult", "broken.zip", "broken.zip: cannot be read; check the path, or download it again"),
    ],
)
def test_what_is_no_download_is_refused(name: str, file: str, said: str, tmp_path: Path) -> None:
    for each in ("adult.test", "broken.zip"):
        (tmp_path / each).write_text("x\n")
    with pytest.raises(InputError, match=re.escape(said)):
        prepare(name, [tmp_path / file], tmp_path / "data")


def test_hierarchies_have_every_attribute_and_no_leaf_twice() -> None:
    own = {
        "adult": adult.QUASI, "informs": informs.QUASI, "pm25": {"season": None, "cbwd": None},
        "nafld": returning.NAFLD, "star": returning.STAR,
    }  # fmt: skip
    for name, original in ORIGINALS.items():
        assert set(original.hierarchies) == {each for each, span in own[name].items() if span is None}
        for tree in original.hierarchies.values():
            leaves = [line.split(";")[0] for line in trees.lines(tree)]
            assert len(leaves) == len(set(leaves)) > 1
            assert all(line.endswith(";Any") for line in trees.lines(tree))


def test_the_list_names_every_file_with_its_digest() -> None:
    told = CliRunner().invoke(app, ["datasets", "list"]).stdout
    for original in ORIGINALS.values():
        assert original.page in told and original.licence in told and original.command in told
        assert all(f"{digest}  {file}" in told for file, digest in original.files.items())


@pytest.mark.skipif(not DATA, reason="SHOAL_DATA names no data")
@pytest.mark.parametrize("name", ORIGINALS)
def test_the_real_downloads_are_those_that_are_known(name: str, tmp_path: Path) -> None:
    home = Path(DATA or "") / ORIGINALS[name].folder
    files = [place for file in ORIGINALS[name].files for place in (home / file, home / f"{file}.gz") if place.is_file()]
    if not files:
        pytest.skip(f"no {name} in SHOAL_DATA")
    assert all(each.known for each in prepare(name, files, tmp_path))
    for attribute in ORIGINALS[name].hierarchies:
        own = tmp_path / ORIGINALS[name].folder / "hierarchies" / f"{attribute}.csv"
        assert own.read_text() == (home / "hierarchies" / f"{attribute}.csv").read_text()
