"""Every algorithm has a page and a docstring, and both have all their sections."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from shoal.algorithms import NAMES
from shoal.policy.algorithm import KNOWN, Parameters
from shoal.policy.algorithm import NAMES as POLICY_NAMES
from tests.docs.base import ROOT, anchors, read

SECTIONS = ("Parameters", "Examples", "Decisions", "Guarantee", "References")
GUARANTEE, LIMITS = "guarantee-and-why-it-holds", "what-it-does-not-protect-against"
HEADINGS = ("idea", "pseudo-code", "decisions", GUARANTEE, LIMITS, "cost")
NAMES_OF = dict(zip(KNOWN, POLICY_NAMES, strict=True))


def docstring(name: str) -> str:
    return import_module(f"shoal.algorithms.{name}").__doc__ or ""


def section(docstring: str, title: str) -> str:
    """What stands under a title, up to the next."""
    found = re.search(rf"^{title}\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


@pytest.mark.parametrize("title", SECTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_has_its_sections(name: str, title: str) -> None:
    assert section(docstring(name), title).strip()


@pytest.mark.parametrize("known", KNOWN, ids=lambda known: known.__name__)
def test_the_docstring_names_all_parameters(known: type[Parameters]) -> None:
    told = section(docstring(NAMES_OF[known]), "Parameters")
    assert [key for key in known.model_fields if key != "name" and not re.search(rf"\b{key}\b", told)] == []


@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_page(name: str) -> None:
    page = read(f"docs/algorithms/{name}.md")
    assert [heading for heading in HEADINGS if heading not in anchors(page)] == []
    assert "src/shoal/blocks/release.py" in page
    assert f"src/shoal/algorithms/{name}.py" in page or f"src/shoal/algorithms/{name}/" in page


@pytest.mark.parametrize("page", ["docs/index.md", "docs/algorithms/index.md"])
@pytest.mark.parametrize("name", NAMES)
def test_the_indices_lead_to_the_page(name: str, page: str) -> None:
    assert re.search(rf"\]\((algorithms/)?{name}\.md\)", read(page))


def test_a_policy_can_name_every_algorithm() -> None:
    assert sorted(POLICY_NAMES) == sorted(NAMES)


def test_no_page_without_its_algorithm() -> None:
    pages = {path.stem for path in (ROOT / "docs/algorithms").glob("*.md")}
    assert pages == {*NAMES, "index"}
