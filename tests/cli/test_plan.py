"""`shoal plan` on files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner, Result

from shoal.cli import app

SIZE = 20_000


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Two hours of 300 users and items of falling popularity; a row lacks its user, one its item, one its time."""
    rng = np.random.default_rng(1)
    times = np.sort(rng.uniform(1.7e9, 1.7e9 + 7200, SIZE)).tolist()
    users = [f"user{n}" for n in rng.integers(0, 300, SIZE)]
    items = [f"item{n}" for n in rng.geometric(0.3, SIZE)]
    users[5], items[6], times[7] = None, "", None
    path = tmp_path / "events.parquet"
    table = pa.table({"t": times, "user": users, "item": items, "hour": [n % 2 for n in range(SIZE)]})
    pa.parquet.write_table(table, path)
    return path


def called(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def test_a_table_and_an_advice(events: Path) -> None:
    result = called("--data", events, "--k", 2, "--confidence", 0.9, "--window", "10m")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "19,997 observations, 300 users, 26 items, 120m"
    assert lines[-1].startswith("algorithm: {name: zanon, z: ")
    assert " window: 10m}: 9" in lines[-1]
    assert lines[-1].endswith("of the observations kept")
    assert result.stderr == f"{events}: 3 rows without a user, an item or a time left out\n"
    assert "user1" not in result.output
    assert "item1" not in result.output


def test_figures_as_json(events: Path, tmp_path: Path) -> None:
    printed = called("--data", events, "--window", "10m,20m", "--json", "-")
    found = json.loads(printed.stdout)
    assert (found["observations"], found["k"], found["confidence"]) == (SIZE - 3, 2, 0.95)
    assert [window["window"] for window in found["windows"]] == [600, 1200]
    assert found["best"] in [window["best"] for window in found["windows"]]
    assert set(found["best"]) == {"window", "z", "probability", "error", "measured", "information", "kept", "silent"}
    assert all(row["error"] <= 1e-4 for window in found["windows"] for row in window["rows"])
    called("--data", events, "--window", "10m,20m", "--json", tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text()) == found


def test_usual_windows_unless_asked(events: Path) -> None:
    found = json.loads(called("--data", events, "--json", "-").stdout)
    assert [window["window"] for window in found["windows"]] == [60, 300, 900]


@pytest.mark.slow
def test_a_picture(events: Path, tmp_path: Path) -> None:
    assert called("--data", events, "--window", "10m", "--plot", tmp_path / "plan.svg").exit_code == 0
    assert "<svg" in (tmp_path / "plan.svg").read_text()


def test_several_fields_make_an_item_and_formats_agree(events: Path, tmp_path: Path) -> None:

    pa.csv.write_csv(pa.parquet.read_table(events), tmp_path / "events.csv")
    asked = ("--window", "10m", "--item", "item,hour", "--json", "-")
    found = json.loads(called("--data", events, *asked).stdout)
    assert found["items"] > 30
    assert json.loads(called("--data", tmp_path / "events.csv", *asked).stdout) == found


def test_the_first_rows_only(events: Path) -> None:
    assert called("--data", events, "--rows", 5000, "--window", "10m").stdout.startswith("4,997 observations, ")


def test_too_few_users(tmp_path: Path) -> None:
    lines = ["t,user,item", *(f"{n},{n},a" for n in range(400))]
    (tmp_path / "lonely.csv").write_text("\n".join(lines))
    result = called("--data", tmp_path / "lonely.csv", "--window", "1s")
    assert result.stdout.splitlines()[-1] == (
        "no Δt and z make 95.0 % of the users 2-anonymous: too few are there at a time; use longer windows, or a larger sample"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--person", "pid"], "{path}: has no field 'pid'; name the one that it has with --person"),
        (["--item", "site"], "{path}: has no field 'site'; name the one that it has with --item"),
        (["--time", "ts"], "{path}: has no field 'ts'; name the one that it has with --time"),
        (["--window", "soon"], "--window: not a duration; write it like 30s, 5m, 2h, 1d"),
        (["--window", "1d"], "window: 86400 s lies outside 0 to 7198.88 s, the time that the sample spans; choose one within"),
        (["--confidence", "95"], "confidence: lies outside 0 to 1; 0.95 is a usual choice"),
        (["--plot", "plan.txt"], "plan.txt: unknown kind of picture; its name must end in .png or .svg"),
        (["--time", "user"], "{path}: no row has a user, an item and a time; name the fields with --person, --item and --time"),
    ],
)
def test_refusals(events: Path, arguments: list[str], message: str) -> None:
    result = called("--data", events, *arguments)
    assert (result.exit_code, result.stderr) == (2, message.format(path=events) + "\n")
