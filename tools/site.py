"""What the documents link to outside docs/ becomes a page of the site: other documents, sources, notebooks.

A hook of mkdocs (see mkdocs.yml). Documents are written for the repository, where links lead to files; here every link is led
to the page that shows the file, so that the site is whole, also offline.
"""

from __future__ import annotations

import json
import re
from os.path import relpath
from pathlib import Path
from posixpath import dirname
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".service": "ini"}


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every file outside docs/ that is linked to, directly or from such a page."""
    from mkdocs.structure.files import File

    waiting = [DOCS / file.src_uri for file in files.documentation_pages()]
    seen = set(waiting)
    while waiting:
        page = waiting.pop()
        for target in sorted(targets(content(page), page)):
            if target not in seen and target.is_file() and not target.is_relative_to(DOCS):
                seen.add(target)
                waiting.append(target)
                files.append(File.generated(config, address(target), content=content(target)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Lead every link to the page of what it names."""
    return led(markdown, origin(page.file.src_uri), page.file.src_uri)


def address(target: Path) -> str:
    """Where on the site a file of the repository is.

    >>> address(ROOT / "docs/policy.md"), address(ROOT / "benchmarks/README.md"), address(ROOT / "src/shoal/errors.py")
    ('policy.md', 'project/benchmarks/README.md.md', 'project/src/shoal/errors.py.md')
    """
    if target.is_relative_to(DOCS):
        return target.relative_to(DOCS).as_posix()
    return f"project/{target.relative_to(ROOT).as_posix()}.md"


def origin(uri: str) -> Path:
    """The file of the repository that a page of the site shows; `address` the other way round."""
    return ROOT / uri.removeprefix("project/").removesuffix(".md") if uri.startswith("project/") else DOCS / uri


def led(markdown: str, source: Path, uri: str) -> str:
    """The text with its links led to the site's pages."""

    def lead(link: re.Match[str]) -> str:
        target = (source.parent / link[2]).resolve()
        if re.match(r"[a-z]+:", link[2]) or not target.is_relative_to(ROOT):
            return link[0]
        return f"{link[1]}{relpath(address(target), dirname(uri) or '.')}{link[3]}"

    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(lead, part) for part in parts)


def targets(markdown: str, source: Path) -> set[Path]:
    """The files of the repository that a text links to."""
    links = (link[1] for link in _LINK.findall(_FENCED.sub("", markdown)) if not re.match(r"[a-z]+:", link[1]))
    return {target for link in links if (target := (source.parent / link).resolve()).is_relative_to(ROOT)}


def content(file: Path) -> str:
    """A file as Markdown."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        return text
    if file.suffix == ".ipynb":
        return notebook(json.loads(text))
    name = file.relative_to(ROOT).as_posix()
    return f"---\nsearch: {{exclude: true}}\n---\n\n# {name}\n\n```{_LANGUAGES.get(file.suffix, 'text')}\n{text}```\n"


def notebook(cells: dict[str, Any]) -> str:
    """A notebook as Markdown: its text, its code, what it printed and drew.

    >>> notebook({"cells": [{"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"text/plain": ["2"]}}]}]})
    '```python\\n1 + 1\\n```\\n\\n```text\\n2\\n```\\n'
    """
    parts = []
    for cell in cells["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            if "image/png" in data:
                parts.append(f"![](data:image/png;base64,{''.join(data['image/png']).strip()})")
            else:
                parts.append(f"```text\n{''.join(output.get('text', data.get('text/plain', []))).rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
