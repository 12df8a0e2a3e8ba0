"""Without matplotlib, a command that draws refuses at once and names the extra to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoal import InputError
from shoal.bench import check_plot
from shoal.cli import app
from shoal.experiments.figure import Figure, Panel
from shoal.extras import pyplot

MESSAGE = "a plot: needs matplotlib, which is not installed; pip install 'shoal-stream[plots]'"


@pytest.fixture(autouse=True)
def without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.mark.parametrize(
    "arguments",
    [
        ["plan", "--data", "absent.parquet", "--plot", "plan.png"],
        ["bench", "speed", "--data", "absent", "--plot", "bench.svg"],
        ["reproduce", "kvarp", "--data", "absent", "--out", "out"],
    ],
)
def test_a_command_that_draws_names_the_extra(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, result.stderr) == (2, f"{MESSAGE}\n")


def test_functions_that_draw_name_the_extra(tmp_path: Path) -> None:
    figure = Figure("loss", "Loss", [Panel("all", "k", "loss", {"FADS": ([1, 2], [0.1, 0.2])})])
    for draw in (pyplot, lambda: check_plot("speed.png", ["speed"]), lambda: figure.write(tmp_path)):
        with pytest.raises(InputError) as error:
            draw()
        assert str(error.value) == MESSAGE
