"""The notebooks run, and print what they say."""

from __future__ import annotations

import nbformat
import pytest
from tools.notebooks import FOLDER, printed, ran

from shoal.anonymizer import compile_kernels
from tests.docs.base import read

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert {path.stem for path in NOTEBOOKS} == {"anonymize-and-analyse", "compare-algorithms", "plan-a-z"}
    assert [path.name for path in NOTEBOOKS if path.name not in read("docs/notebooks.md")] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook(path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fads", "kvarp", "castle", "tide", "zanon"):
        compile_kernels(name)
    monkeypatch.setenv("PYTHONPATH", str(FOLDER.parent / "src"))
    kept = printed(nbformat.read(path, as_version=4))
    assert any(kept)
    assert printed(ran(path)) == kept
