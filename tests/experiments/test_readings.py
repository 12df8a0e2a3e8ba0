"""Other readings of the papers: what they change, and what is written of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from shoal.cli import app
from shoal.experiments import QUICK, kvarp, readings
from shoal.experiments.fads import Encoded, Fads, fads_job, run_fads
from shoal.experiments.runs import run_stream, source, stream, stream_job

TINY = replace(QUICK, tuples=120, points=2)
CHANGES = {reading.name: reading.change for reading in readings.READINGS}


def test_in_milliseconds_windows_hold_twice_as_many_tuples() -> None:
    change = CHANGES["milliseconds"]
    streamed = stream_job("Adult", {"name": "kvarp", "reuse_age": 200}, 50, {"count": 2000}, tuples=None).settings
    assert change(streamed)["window"] == {"count": 4000} and change(streamed)["algorithm"]["reuse_age"] == 400
    held = change(fads_job("Adult", 50, 2000, 200, tuples=None).settings)
    assert (held["window"], held["reuse_age"]) == (4000, 400)
    assert streamed["window"] == {"count": 2000} and streamed["algorithm"]["reuse_age"] == 200


def test_only_the_buffer_of_idea_becomes_a_count() -> None:
    change = CHANGES["each waits δ"]
    for window, expected in (({"buffer": 5}, {"count": 5}), ({"count": 5}, {"count": 5})):
        assert change(stream_job("INFORMS", {"name": "idea"}, 2, window, tuples=None).settings)["window"] == expected
    held = fads_job("Adult", 50, 2000, 200, tuples=None).settings
    assert change(held) == held


@pytest.mark.parametrize(("kind", "numbers"), [("numbers", True), ("categories", False)])
def test_values_are_taken_from_some_columns_alone(kind: str, numbers: bool, data: Path) -> None:
    found = stream(data, "INFORMS", None, 3, None, f'{{"lost": "{kind}"}}')
    lost = {name: bool(found.rows.column(name).null_count) for name in found.quasi}
    assert lost == {name: (span is not None) == numbers for name, span in found.quasi.items()}


def test_another_seed_takes_other_values_and_shuffled_rows_are_the_same_rows(data: Path) -> None:
    usual, other = (stream(data, "INFORMS", None, 3, None, text).rows for text in ("{}", '{"seed": 1}'))
    assert not usual.equals(other) and usual.column("pid").equals(other.column("pid"))
    shuffled = stream(data, "INFORMS", None, None, None, '{"shuffled": true}').rows.column("pid").to_pylist()
    assert shuffled != (whole := source(data, "INFORMS").rows.column("pid").to_pylist()) and sorted(shuffled) == sorted(whole)


@pytest.mark.parametrize(("shape", "depth"), [("flat", {1}), ("binary", {2})])
def test_trees_of_another_shape_have_the_same_leaves(shape: str, depth: set[int], data: Path) -> None:
    found = stream(data, "INFORMS", 50, None, None, f'{{"trees": "{shape}"}}')
    for name, span in found.quasi.items():
        if span is None:
            own, before = (
                [line.split(";") for line in (home / "hierarchies" / f"{name}.csv").read_text().splitlines()]
                for home in (found.folder, source(data, "INFORMS").folder)
            )
            assert [path[0] for path in own] == [path[0] for path in before]
            assert {len(path) - 1 for path in own} == depth


def test_a_missing_value_counts_as_lost(data: Path) -> None:
    """The engine and FADS in numpy are the same algorithm here, and so they lose the same under this measure, too."""
    job = stream_job("INFORMS", {"name": "fads", "reuse_age": 40}, 5, {"count": 30}, tuples=None, missing=4)
    held = fads_job("INFORMS", 5, 30, 40, tuples=None, missing=4)
    usual, whole = (run_stream(data, {**job.settings, "reading": {"missing_is_lost": lost}})["loss"] for lost in (False, True))
    own = run_fads(data, {**held.settings, "reading": {"missing_is_lost": True}})["loss"]
    assert whole == pytest.approx(own) and whole > usual
    encoded = Encoded.of(stream(data, "INFORMS", None, 4))
    fads = Fads(encoded, 5, 30, 40, 1.0, None)
    fads.run()
    there = encoded.there.sum(axis=0)
    assert whole == pytest.approx(np.mean((fads.loss * there + 7 - there) / 7))


def test_every_listed_claim_has_a_verdict_under_each_reading(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readings, "READ", (kvarp.PAPER,))
    found = readings.disputed(data, tmp_path, scale=TINY, workers=1)
    assert found and all(list(each.under) == list(CHANGES) for each in found)
    assert not any("time" in each.claim.said for each in found)
    text = readings.markdown(found, TINY)
    for each in found:
        assert f"### K-VARP: {each.claim.said}" in text
        for name, claim in each.under.items():
            assert f"| {name} | {claim.verdict} | {claim.measured} |" in text


def test_readings_stand_alone(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["reproduce", "readings", "kvarp", "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "readings: cannot be combined with papers or with --quick; run it alone" in result.stderr
