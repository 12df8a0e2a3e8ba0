"""Python examples in the documents run, and print what they say."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.docs.base import DOCUMENTS, name

ELSEWHERE = "docs/first-algorithm.md"  # its example needs what the page tells to write: test_first_algorithm.py
WITH_EXAMPLES = [path for path in DOCUMENTS if ">>> " in path.read_text(encoding="utf-8") and name(path) != ELSEWHERE]


def test_there_are_examples() -> None:
    assert {"README.md", "docs/tutorial.md", "docs/operations.md"} <= {name(path) for path in WITH_EXAMPLES}


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name)
def test_examples(path: Path) -> None:
    """The fences are blanked: a closing one would count as output."""
    text = re.sub(r"^```.*$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, name(path), str(path), 0)
    report: list[str] = []
    failed, attempted = doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert attempted
    assert failed == 0, "".join(report)
