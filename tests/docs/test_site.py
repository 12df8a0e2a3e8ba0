"""The site is built without a warning, holds every page, and fetches nothing from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from tools import site
from tools.site import led

from tests.docs.base import ROOT, read

VERSION = tomllib.loads(read("pyproject.toml"))["project"]["version"]
PAGES = {path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")}


def build(target: Path, *options: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--site-dir", str(target), *options]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)


def named(entry: Any) -> Iterator[str]:
    """The pages of a navigation."""
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from named(part)


def test_the_navigation_names_every_page() -> None:
    text = re.sub(r"!!python\S*", "", read("mkdocs.yml"))
    named_pages = {page for page in named(yaml.safe_load(text)["nav"]) if not page.startswith("project/")}
    assert named_pages == {page for page in PAGES if not page.startswith("decisions/") or page.endswith("index.md")}


@pytest.mark.slow
def test_the_site(tmp_path: Path) -> None:
    done = build(tmp_path / "site")
    assert done.returncode == 0, done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert {page.removesuffix(".md") + ".html" for page in PAGES} <= {
        page.relative_to(tmp_path / "site").as_posix() for page in pages
    }
    fetched = re.compile(r'<(?:script|img|iframe|link)[^>]*(?:src|href)="?(?:https?:)?//[^"> ]+')
    assert [found for page in pages for found in fetched.findall(page.read_text(encoding="utf-8"))] == []
    assert all(f"shoal {VERSION}" in page.read_text(encoding="utf-8") for page in pages if page.name == "index.html")
    listed = re.findall(r"^- \[.+\]\((.+)\): .+$", (tmp_path / "site/llms.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert {page for page in listed if not page.startswith("project/")} == {
        page for page in PAGES if (not page.startswith("decisions/") or page.endswith("index.md")) and page != "index.md"
    }
    assert [page for page in listed if not (tmp_path / "site" / page).is_file()] == []
    assert "def release(" in re.sub(r"<[^>]+>", "", (tmp_path / "site/project/src/shoal/blocks/release.py.html").read_text())


def test_a_version_has_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(site, "SITE", tmp_path)
    usual, other = SimpleNamespace(site_dir=str(tmp_path)), SimpleNamespace(site_dir="elsewhere")
    assert site.on_config(usual).site_dir == str(tmp_path / VERSION)
    assert site.on_config(other).site_dir == "elsewhere"
    (tmp_path / VERSION).mkdir()
    (tmp_path / "0.1.0").mkdir()
    site.list_versions(tmp_path)
    assert [each["version"] for each in json.loads((tmp_path / "versions.json").read_text())] == [VERSION, "0.1.0"]
    assert f"url={VERSION}/index.html" in (tmp_path / "index.html").read_text()


@pytest.mark.slow
def test_a_broken_link_fails(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# A page\n\n[nowhere](absent.md)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: a\nstrict: true\n")
    done = build(tmp_path / "site", folder=tmp_path)
    assert done.returncode == 1
    assert "absent.md" in done.stderr


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("[a](policy.md#grid)", "[a](policy.md#grid)"),
        ("[a](../README.md)", "[a](project/README.md.md)"),
        ("[a](../src/shoal/errors.py)", "[a](project/src/shoal/errors.py.md)"),
        ("[a](https://example.org/b.md)", "[a](https://example.org/b.md)"),
        ("```text\n[a](../README.md)\n```", "```text\n[a](../README.md)\n```"),
    ],
)
def test_links_lead_to_pages(link: str, expected: str) -> None:
    assert led(link, ROOT / "docs/index.md", "index.md") == expected


def kinds() -> dict[str, list[str]]:
    """The pages of each part of the navigation."""
    text = re.sub(r"!!python\S*", "", read("mkdocs.yml"))
    return {title: list(named(part)) for entry in yaml.safe_load(text)["nav"] for title, part in entry.items()}


def test_the_four_kinds() -> None:
    """Home has a list for each kind, with the same pages as the navigation."""
    found = kinds()
    assert list(found) == ["Home", "Tutorials", "How-to guides", "Reference", "Explanation"]
    home = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", read("docs/index.md"), re.MULTILINE | re.DOTALL))
    for kind, pages in list(found.items())[1:]:
        listed = re.findall(r"\]\(([\w/.-]+\.md)\)", home[kind])
        assert {page for page in listed if not page.startswith("../")} == {
            page for page in pages if not page.startswith("project/")
        }


@pytest.mark.parametrize("page", sorted({*PAGES} - {*kinds()["Reference"]}))
def test_no_page_is_long_unless_it_is_reference(page: str) -> None:
    assert len(read(f"docs/{page}").splitlines()) <= 250
