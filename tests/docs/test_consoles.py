"""The files of the tutorial and of "What can I promise?" are written and their commands run; they print what the page shows."""

from __future__ import annotations

from pathlib import Path

import pytest
from tools.consoles import commands, files, ran

from shoal.anonymizer import compile_kernels
from tests.docs.base import read

EXPECTED = {
    "docs/tutorial.md": ({"people.csv", "policy.yaml", "city.csv", "pipeline.yaml"}, 8),
    "docs/promise.md": ({"clinic.yaml", "rides.yaml", "visits.yaml"}, 6),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", EXPECTED)
def test_the_commands_print_what_the_page_shows(page: str, tmp_path: Path) -> None:
    for name in ("kvarp", "tide", "zanon"):
        compile_kernels(name)
    names, fewest = EXPECTED[page]
    text = read(page)
    assert set(files(text)) == names
    assert len(commands(text)) >= fewest
    assert ran(text, tmp_path) == text


def test_output_that_differs_is_noticed(tmp_path: Path) -> None:
    page = "**`a.txt`**\n\n```text\none\n```\n\n```console\n$ cat a.txt\ntwo\n$ false\n$ echo $?\n0\n```\n"
    assert ran(page, tmp_path) == page.replace("two\n", "one\n").replace("?\n0", "?\n1")
