"""Relative links lead somewhere, and the documents hold nothing of the place they were written in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.base import DOCUMENTS, ROOT, anchors, name, prose

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def links(path: Path) -> list[str]:
    found = _LINK.findall(prose(path.read_text(encoding="utf-8")))
    return [link for link in found if not re.match(r"[a-z]+:", link)]


def leads_nowhere(path: Path, link: str) -> bool:
    file, _, anchor = link.partition("#")
    target = (path.parent / file).resolve() if file else path
    if not target.is_relative_to(ROOT) or not target.exists():
        return True
    if target.suffix == ".png":
        return anchor not in ("", "only-light", "only-dark")
    return bool(anchor) and anchor not in anchors(target.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_links(path: Path) -> None:
    assert [link for link in links(path) if leads_nowhere(path, link)] == []


@pytest.mark.parametrize("link", ["absent.md", "README.md#absent", "../elsewhere", "#absent"])
def test_a_broken_link_is_noticed(link: str) -> None:
    assert leads_nowhere(ROOT / "README.md", link)


def test_everything_is_linked() -> None:
    """From the README, following links, every page of the documentation is reached."""
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md" and page.exists():
            reached.add(page)
            waiting += [(page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"]
    assert [name(path) for path in DOCUMENTS if path not in reached] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_no_absolute_paths(path: Path) -> None:
    installed = r"docker compose exec -T \w+ \S+|/opt/shoal\b"  # inside a container; where the systemd unit expects shoal
    text = re.sub(installed, "", path.read_text(encoding="utf-8"))
    assert re.findall(r"(?<![\w.~}/])/(?:home|tmp|usr|opt|root|var|work)\b\S*", text) == []
