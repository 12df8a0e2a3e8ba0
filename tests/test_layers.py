"""One style of imports: what a layer offers stands in its `__init__`, and other layers take it from there.

import-linter, which `make lint` runs, says which layer may import which.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import shoal

PACKAGE = Path(shoal.__file__).parent


def imports(path: Path) -> Iterator[ast.ImportFrom]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("shoal."):
            yield node


def test_other_layers_take_from_a_layer_what_its_init_offers() -> None:
    past = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {node.module}"
        for path in PACKAGE.rglob("*.py")
        for node in imports(path)
        for layer, *within in [str(node.module).split(".")[1:]]
        if within and layer != path.relative_to(PACKAGE).parts[0]
    ]
    assert past == []


def test_a_layer_lists_what_it_offers() -> None:
    for path in PACKAGE.glob("*/__init__.py"):
        module = __import__(f"shoal.{path.parent.name}", fromlist=["__all__"]) if path.parent.name != "spark" else None
        if module:
            assert [name for name in module.__all__ if not hasattr(module, name)] == [], path
