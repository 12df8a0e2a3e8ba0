"""Which files hold kernels, and the folder that keeps their machine code: it is named after a digest of these files.

After an edit of an imported kernel, old machine code must not run. So the cache folder is named after a digest of all sources
of shoal that can hold kernels, or constants of kernels. A kernel in any other file of shoal is refused. A kernel outside of
shoal has a subfolder, which is named after a digest of its file and of the folders of the kernels that this file imports.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGE = Path(__file__).resolve().parent.parent
_LAYERS = ("compiled", "columns", "blocks", "algorithms")
_UNUSED_DAYS = 30


def _sources() -> dict[Path, bytes]:
    """The files of shoal that may define kernels: whole layers, and other files that import this one."""
    files = [file for layer in _LAYERS for file in sorted((_PACKAGE / layer).rglob("*.py"))]
    others = (*sorted(_PACKAGE.glob("*.py")), *sorted((_PACKAGE / "formats").rglob("*.py")))
    found = {file: file.read_bytes() for file in (*files, *others)}
    return {file: text for file, text in found.items() if file in files or b"shoal.compiled" in text}


def digest(*parts: bytes) -> str:
    whole = hashlib.sha256()
    for part in parts:
        whole.update(part)
    return whole.hexdigest()[:16]


def _home() -> Path:
    if given := os.environ.get("SHOAL_CACHE"):
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"


_SOURCES = _sources()
DIGEST = digest(*_SOURCES.values())
FOLDER = _home() / f"kernels-{DIGEST}"


@cache
def _resolved(file: str) -> Path:
    return Path(file).resolve()


def folder_of(function: Callable[..., Any]) -> Path:
    """The cache folder for the machine code of a function."""
    file = _resolved(function.__code__.co_filename)
    if file in _SOURCES:
        return FOLDER
    if file.is_relative_to(_PACKAGE):
        raise ImportError(
            f"{file}: {function.__name__} is a kernel, but the cache would not notice an edit of this file; "
            f"move it to one of {', '.join(_LAYERS)}, or to a file of formats that says `from shoal.compiled import`"
        )
    used = [value for value in function.__globals__.values() if hasattr(value, "folder") and hasattr(value, "function")]
    imported = {str(value.folder) for value in used if _resolved(value.function.__code__.co_filename) != file}
    return FOLDER / "elsewhere" / digest(file.read_bytes() if file.is_file() else b"", *map(str.encode, sorted(imported)))


def forget_old() -> None:
    """Remove the cache folders of other versions that were not used for a month."""
    for folder in FOLDER.parent.glob("kernels-*"):
        if folder != FOLDER and time.time() - folder.stat().st_mtime > _UNUSED_DAYS * 86_400:
            shutil.rmtree(folder, ignore_errors=True)
