"""Files of the papers' data that are damaged are refused, without a word of what they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.datasets import adult, informs, weather
from shoal.errors import InputError
from tests.experiments.sample import write


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path)


def test_adult_with_a_word_for_a_number(data: Path) -> None:
    source = data / "adult" / "adult.data"
    lines = source.read_text().splitlines()
    source.write_text("\n".join([lines[1].replace(lines[1].split(",")[0], "forty"), *lines[2:]]))
    with pytest.raises(InputError) as caught:
        adult.rows(data / "adult")
    assert str(caught.value) == f"{source}: cannot be read as Adult; download it again"


def test_informs_with_a_word_for_a_number(data: Path) -> None:
    source = data / "informs" / "demographics05test.csv"
    source.write_text(f"{source.read_text()}x,y,z,1,1,1,1,1\n")
    with pytest.raises(InputError) as caught:
        informs.within(data)
    assert str(caught.value) == f"{source}: cannot be read; download it again"


@pytest.mark.parametrize("text", ["No,season\n1,2\n", "", "\xff\xfe"])
def test_a_city_without_posts(data: Path, text: str) -> None:
    source = data / "pm25" / "BeijingPM20100101_20151231.csv"
    source.write_text(text, encoding="latin-1")
    with pytest.raises(InputError) as caught:
        weather.within(data, "Beijing")
    assert str(caught.value) == f"{source}: does not name 3 posts in its first line; download it again"


def test_data_is_looked_for_under_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"^no Adult data in data: download adult\.data from "):
        adult.folder()
    write(tmp_path / "data")
    assert adult.folder() == Path("data/adult")
