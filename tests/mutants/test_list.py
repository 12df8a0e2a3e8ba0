"""Every planted defect still fits the code, so that the list cannot rot."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tools.mutants.defect import Defect, Misplaced, defects

ROOT = Path(__file__).parents[2]
DEFECTS = defects()


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=[defect.name for defect in DEFECTS])
def test_a_defect_can_be_planted(defect: Defect) -> None:
    text = (ROOT / defect.file).read_text()
    planted = defect.planted(text)
    assert ast.dump(ast.parse(planted)) != ast.dump(ast.parse(text))
    assert all((ROOT / path).exists() for path in defect.hint if path.startswith(("tests/", "src/")))
    assert defect.hint[0].startswith(("tests/", "src/"))


def test_names_are_unique_and_every_area_has_some() -> None:
    names = [defect.name for defect in DEFECTS]
    assert len(set(names)) == len(names) >= 45
    areas = {"door", "engine", "filter", "formats", "judge", "nulls", "pipeline", "row"}
    assert {defect.area for defect in DEFECTS} == areas


@pytest.mark.parametrize(("text", "times"), [("n > k", 0), ("n >= k or n >= k", 2)])
def test_a_snippet_that_does_not_fit_is_told(text: str, times: int) -> None:
    defect = Defect("door", "few", "too few pass", "a.py", "n >= k", "n > k", "tests")
    with pytest.raises(Misplaced) as caught:
        defect.planted(text)
    assert str(caught.value) == f"few: its snippet is {times} times in a.py, not once; plant it again: too few pass"
