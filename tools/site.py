"""A hook of mkdocs (see mkdocs.yml): pages for linked files outside docs/, the version, and an llms.txt.

Documents are written for the repository, where links lead to files: other documents, sources, notebooks. Here every such file
gets a page, and links lead to that page, so that the site is complete, also offline.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from os.path import relpath
from pathlib import Path
from posixpath import dirname
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
SITE = ROOT / "build/site"
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".service": "ini"}


def on_config(config: Any) -> Any:
    """Show the version on every page; in the usual place, each version gets a folder of its own."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    config.copyright = f"shoal {version}"
    if Path(config.site_dir) == SITE:
        config.site_dir = str(SITE / version)
    return config


def on_nav(nav: Any, config: Any, files: Any) -> Any:
    """Remember the navigation: llms.txt has its order."""
    config.extra["sections"] = [(item.title, list(_pages(item))) for item in nav.items if item.children]
    return nav


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:
    """Give the home page the whole width."""
    if page.is_homepage:
        page.meta["hide"] = ["navigation"]
    return context


def on_post_build(config: Any) -> None:
    """Write llms.txt (https://llmstxt.org): every page of the navigation, as Markdown, with its first sentence."""
    site = Path(config.site_dir)
    parts = [f"# {config.site_name}\n\n> {config.site_description}\n"]
    for title, pages in config.extra["sections"]:
        lines = [f"- [{page.title}]({page.file.src_uri}): {first_sentence(page.markdown)}" for page in pages]
        parts.append(f"## {title}\n\n" + "\n".join(lines) + "\n")
        for page in pages:
            target = site / page.file.src_uri
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(page.markdown, encoding="utf-8")
    (site / "llms.txt").write_text("\n".join(parts), encoding="utf-8")
    if site.parent == SITE:
        list_versions(SITE)


def list_versions(folder: Path) -> None:
    """Write what the menu of versions reads, and a page that leads to the newest.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as name:
    ...     for version in "0.9.0", "0.10.0":
    ...         (Path(name) / version).mkdir()
    ...     list_versions(Path(name))
    ...     [each["version"] for each in json.loads((Path(name) / "versions.json").read_text())]
    ['0.10.0', '0.9.0']
    """
    found = [path.name for path in folder.iterdir() if re.fullmatch(r"\d+(\.\d+)*\w*", path.name)]
    found.sort(key=lambda version: [int(number) for number in re.findall(r"\d+", version)], reverse=True)
    listed = [{"version": version, "title": version, "aliases": []} for version in found]
    (folder / "versions.json").write_text(json.dumps(listed), encoding="utf-8")
    (folder / "index.html").write_text(
        '<!doctype html><meta charset="utf-8"><title>shoal</title>'
        f'<meta http-equiv="refresh" content="0; url={found[0]}/index.html">'
        f'<a href="{found[0]}/index.html">shoal {found[0]}</a>\n',
        encoding="utf-8",
    )


def _pages(item: Any) -> Iterator[Any]:
    if item.children:
        for part in item.children:
            yield from _pages(part)
    else:
        yield item


def first_sentence(markdown: str) -> str:
    """The first sentence of a page, without links.

    >>> first_sentence("# Lanes\\n\\n`lanes` splits a [stream](a.md) into\\nwindows. It is for every algorithm.")
    '`lanes` splits a stream into windows.'
    """
    texts = (part.strip() for part in markdown.split("\n\n"))
    text = next((part for part in texts if part and not re.match(r"#|```|!\[|\||<|---|\d+\. |- ", part)), "")
    plain = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
    return re.split(r"(?<=[.?])\s", plain)[0].removesuffix(":")


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
