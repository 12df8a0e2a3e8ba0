"""Losses: the data sets as they are read and ordered, and what is reported about them."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest

from shoal.bench import Report, loss
from shoal.bench.data import datasets
from shoal.bench.loss import Cell
from shoal.datasets import ORDERS
from shoal.errors import InputError

pytestmark = pytest.mark.slow

WEATHER = "No,season,PM_a,PM_b,PM_US Post,DEWP,HUMI,PRES,TEMP,cbwd,Iws,precipitation,Iprec"
PEOPLE = '"DUID","DUPERSID","DOBMM","DOBYY","SEX","RACEX","EDUCYEAR","marry","income"'


@pytest.fixture
def more(data: Path, tmp_path: Path) -> Path:
    """A folder with Adult, one city and INFORMS; one row of each of the latter misses something."""
    (tmp_path / "adult").symlink_to(data / "adult")
    (tmp_path / "pm25").mkdir()
    (tmp_path / "informs").mkdir()
    rows = [f"{i},1,NA,20,30,-21,43,1021,-11,NW,1.79,0,0" if i == 1 else f"{i},1,10,20,30,-21,43,1021,-11,NW,1.79,0,0"
            for i in range(1, 6)]  # fmt: skip
    (tmp_path / "pm25" / "ChengduPM20100101_20151231.csv").write_text("\n".join([WEATHER, *rows]) + "\n")
    persons = [f'1,"{i:08}",12,1924,1,1,{-9 if i == 2 else 13},3,17800' for i in range(4)]
    (tmp_path / "informs" / "demographics05test.csv").write_text("\n".join([PEOPLE, *persons]) + "\n")
    return tmp_path


def test_the_data_sets_that_are_there(more: Path) -> None:
    found = {data.name: data for data in datasets(more, seed=0)}
    assert list(found) == ["Adult 0", "Adult 3", "Adult 7", "INFORMS 2", "PM2.5 Chengdu"]
    assert found["PM2.5 Chengdu"].rows.num_rows == 4
    assert list(found["PM2.5 Chengdu"].quasi)[2:5] == ["PM_a", "PM_b", "PM_US Post"]
    assert found["INFORMS 2"].rows.column("pid").to_pylist() == ["00000000", "00000001", "00000003"]


def test_what_is_missing_was_taken(data: Path) -> None:
    for found, most in zip(datasets(data, seed=0), (0, 3, 7), strict=True):
        lost = [sum(value is None for value in row.values()) for row in found.rows.to_pylist()]
        assert set(lost) == set(range(most + 1))


def test_a_broken_source_is_refused(more: Path) -> None:
    (more / "informs" / "demographics05test.csv").write_text("nothing\n1\n")
    with pytest.raises(InputError, match=r"demographics05test\.csv: cannot be read; download it again"):
        list(datasets(more, seed=0))


@pytest.mark.parametrize("order", ORDERS)
def test_orders(data: Path, order: str) -> None:
    plain = next(datasets(data, seed=0))
    turned = plain.ordered(order, seed=0).rows
    persons, times = turned.column("pid").to_pylist(), Counter(turned.column("pid").to_pylist())
    rows = plain.rows.num_rows
    assert (persons == list(range(rows))) == (order == "as it comes")
    assert set(times.values()) == {"a tenth twice": {1, 2}, "four times each": {4}}.get(order, {1})
    assert len(persons) == (rows + rows // 10 if order == "a tenth twice" else rows)
    if order == "sorted":
        ages = turned.column("age").to_pylist()
        assert ages == sorted(ages)
    if order == "a tenth twice":
        first = [persons.index(person) for person, number in times.items() if number == 2]
        assert all(persons[i] in persons[i + 1 :] for i in first)


def test_a_cell_for_every_data_set_and_order(measured: Report) -> None:
    cells = measured.parts["loss"]["cells"]
    assert [(cell["data"], cell["order"]) for cell in cells] == [
        ("Adult 0", ORDERS[0]), ("Adult 3", ORDERS[0]), *(("Adult 3", order) for order in ORDERS[1:]), ("Adult 7", ORDERS[0]),
        *(("Adult 7", order) for order in ORDERS[1:]),
    ]  # fmt: skip
    for cell in cells:
        assert set(cell["loss"]) == {"fads", "xband 4", "xband 10"}
        assert all(0 < value <= 1 for value in cell["loss"].values())
        assert (cell["offline"] is None) == (cell["order"] != ORDERS[0])


def cell(**losses: float) -> Cell:
    named = {name.replace("_", " "): value for name, value in losses.items()}
    return {
        "data": "Adult 0", "family": "Adult", "order": ORDERS[0], "k": 5, "window": 500, "loss": named,
        "suppressed": dict.fromkeys(named, 0), "offline": 0.1,
    }  # fmt: skip


def test_tide_is_measured_against_the_best_other_of_each_cell() -> None:
    cells = [
        cell(fads=0.5, idea=0.4, tide_quick=0.3, tide_thorough=0.2),
        cell(fads=0.4, idea=0.8, tide_quick=0.2, tide_thorough=0.2),
    ]
    cells[0]["suppressed"]["tide quick"] = 1
    _, summary, *_ = loss.loss_tables({"cells": cells, "tuples": 100})
    less = 100 * (1 - math.sqrt(0.75 * 0.5))
    assert summary.rows == [
        ("Adult, tide quick", f"{less:.1f} %", "25 %", "25.0 %", "50.0 %", "1"),
        ("Adult, tide thorough", "50.0 %", "28 %", "50.0 %", "50.0 %", "0"),
    ]


def test_each_algorithm_has_a_column(measured: Report) -> None:
    own = [table for table in loss.loss_tables(measured.parts["loss"]) if table.title.startswith("Loss by algorithm: ")]
    assert own[0].header == ("k, window", "fads", "xband 4", "xband 10")
    cell = next(cell for cell in measured.parts["loss"]["cells"] if own[0].title.endswith(cell["data"]))
    assert own[0].rows[0][1:] == tuple(f"{each:.3f}" for each in cell["loss"].values())
