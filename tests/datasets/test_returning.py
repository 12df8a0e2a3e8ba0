"""Public streams in which persons return: small files of their shape."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from shoal.bench import Plan, compare, contenders, subjects
from shoal.datasets import ORIGINALS, RETURNING, prepare
from shoal.errors import InputError

DATA = os.environ.get("SHOAL_DATA")
FILES = {
    "demographics05test.csv": '"DUPERSID","DOBMM","DOBYY","SEX","RACEX","EDUCYEAR","marry","income"\n'
    '"b",12,1924,1,1,-1,3,17800\n"a",4,1963,2,1,16,1,-9\n',
    "conditions05.csv": '"DUID","DUPERSID","ICD9CODX","year"\n1,"a","-1",2005\n1,"a","724",2005\n2,"b","V68",2005\n',
    "nafld1.csv": '"id","age","male","weight","height","bmi","case.id","futime","status"\n'
    "7,57,0,60,163,22.6,7,6261,0\n9,67,1,NA,168,NA,7,624,1\n",
    "nafld2.csv": '"id","days","test","value"\n9,30,"hdl",75\n7,-459,"dbp",80\n9,-30,"chol",NA\n',
    "star.csv": '"id","gr","sx","eth","schtype","cltype","hdeg","exp","birthq","ses","read","math"\n'
    '"2","1","F","B","rural","reg","BS/BA",3,"1980:2","F",476,NA\n'
    '"1","K","M",NA,"inner","small",NA,NA,"1979:NA","N",NA,602\n'
    '"2","K","F","B","rural","reg+A","BS/BA",2,"1980:2",NA,NA,NA\n',
}
OF = {"conditions": "informs", "nafld": "nafld", "star": "star"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    for name in OF.values():
        prepare(name, [tmp_path / file for file in ORIGINALS[name].files], tmp_path / "data", accept=True)
    return tmp_path / "data"


@pytest.mark.parametrize(
    ("name", "persons", "rows"),
    [
        (
            "conditions",
            ["a", "a", "b"],
            {"EDUCYEAR": [16, 16, None], "income": [None, None, 17800], "diagnosis": [None, "13", "V"]},
        ),
        (
            "nafld",
            ["7", "9", "9"],
            {"weight": [60, None, None], "test": ["dbp", "chol", "hdl"], "male": ["0", "1", "1"], "died": ["0", "1", "1"]},
        ),
        (
            "star",
            ["1", "2", "2"],
            {"birthq": [None, 1980.25, 1980.25], "cltype": ["small", "reg+A", "reg"], "lunch": ["N", None, "F"]},
        ),
    ],
)  # fmt: skip
def test_persons_return_and_gaps_stay(name: str, persons: list[str], rows: dict[str, list[object]], data: Path) -> None:
    read, _ = RETURNING[name]
    found = read(data)
    assert found.rows.column("pid").to_pylist() == persons
    assert {column: found.rows.column(column).to_pylist() for column in rows} == rows
    assert found.misses and found.rows.column_names == ["pid", *found.quasi, found.label]


@pytest.mark.parametrize("name", RETURNING)
def test_a_file_that_is_absent_is_named(name: str, tmp_path: Path) -> None:
    read, places = RETURNING[name]
    with pytest.raises(InputError) as caught:
        read(tmp_path)
    assert f"{tmp_path / places[-1].path}: is not there" in str(caught.value) or str(places[0].path) in str(caught.value)


def test_what_r_writes_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        prepare("star", [], tmp_path)
    assert str(caught.value) == (
        "star: lacks star.csv; write it by Rscript -e 'library(mlmRev); write.csv(star, \"star.csv\", row.names = FALSE)' "
        "and name it"
    )


@pytest.mark.parametrize("name", RETURNING)
def test_they_are_compared(name: str, data: Path) -> None:
    found = compare(
        Plan(subjects=subjects([name], data), variants=contenders(["fads"]), ks=(2,), waits=(3,), seeds=range(2), tuples=3)
    )
    assert all(run["held"] for run in found.runs) and len(found.runs) == 2


@pytest.mark.skipif(not DATA, reason="SHOAL_DATA names no data")
@pytest.mark.parametrize(
    ("name", "persons", "rows"), [("conditions", 26_854, 104_855), ("nafld", 15_666, 400_123), ("star", 11_598, 26_796)]
)
def test_the_real_ones_are_as_the_page_says(name: str, persons: int, rows: int) -> None:
    read, places = RETURNING[name]
    home = Path(DATA or "")
    if not all((home / place.path).is_file() or (home / f"{place.path}.gz").is_file() for place in places):
        pytest.skip(f"no {name} in SHOAL_DATA")
    found = read(home)
    assert found.rows.num_rows == rows and len(found.rows.column("pid").unique()) == persons
