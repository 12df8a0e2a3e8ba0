"""Every decision is short, says what it costs, and is listed."""

from __future__ import annotations

import pytest

from tests.docs.base import ROOT, read

DECISIONS = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))


def test_there_are_decisions() -> None:
    assert [int(path.name[:2]) for path in DECISIONS] == list(range(1, len(DECISIONS) + 1))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision(path) -> None:
    text = path.read_text(encoding="utf-8")
    title = text.splitlines()[0].removeprefix("# ")
    assert [part for part in ("**Context.**", "**Decision.**", "**Why.**", "**What it costs.**") if part not in text] == []
    assert len(text.splitlines()) <= 30
    assert f"[{title}]({path.name})" in read("docs/decisions/index.md")
