"""Writes LICENSES.md: all packages that shoal needs, directly or not, with their licences, from what is installed.

python -m tools.licences
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "LICENSES.md"
RUN = "shoal"
SELF = "shoal-stream"  # its name on the package index
_HEAD = """# Licences of what shoal uses

shoal itself is under the [Apache License 2.0](LICENSE). No package is part of it; `pip` installs them beside it. The script of
the [page](docs/page.md) has uPlot in it, that of the [lab](docs/lab.md) marked as well, both under the MIT licence
([uPlot](src/shoal/web/static/uplot-license.txt), [marked](src/shoal/web/static/marked-license.txt)). Written by
`python -m tools.licences` from the packages' own metadata; *for* names shoal itself, or the extras that need a package.

| package | licence | for |
|---|---|---|
"""
_TAIL = """
Packages that shoal itself needs have permissive licences. Copyleft by file (MPL-2.0) is met among the tools that test it and
build its documents; they are neither changed nor passed on. psycopg (LGPL-3.0), which the extra `postgres` brings, is imported
as it is. `shoal bench zanon` can run the package zanon (GPL-3.0) beside shoal's own filter where somebody has installed it;
shoal does not need it, and no extra names it.
"""
PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "HPND", "ISC", "LLVM-exception", "MIT", "MIT-0",
    "MIT-CMU", "PSF-2.0", "Python-2.0", "Python-2.0.1", "Unicode-3.0", "Unlicense", "Zlib", "BSL-1.0", "CNRI-Python",
}  # fmt: skip
BY_FILE = {"MPL-2.0", "EPL-2.0"}
BY_LIBRARY = {"LGPL-3.0-only"}  # of a library that an extra imports unchanged, and that anyone can replace
_CALLED = {
    "apache software license": "Apache-2.0", "apache 2.0": "Apache-2.0", "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0", "apache 2": "Apache-2.0", "bsd license": "BSD", "bsd": "BSD",
    "bsd 3-clause license": "BSD-3-Clause", "bsd-3-clause": "BSD-3-Clause", "bsd 3-clause": "BSD-3-Clause",
    "new bsd": "BSD-3-Clause", "3-clause bsd license": "BSD-3-Clause",
    "mit license": "MIT", "mit": "MIT", "isc license (iscl)": "ISC", "isc": "ISC",
    "python software foundation license": "PSF-2.0", "psf": "PSF-2.0", "the unlicense (unlicense)": "Unlicense",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0", "dual license": "",
}  # fmt: skip


class Package(NamedTuple):
    name: str
    licence: str
    needed: tuple[str, ...]


def text(packages: Iterable[Package]) -> str:
    """The whole page."""
    rows = (f"| {name} | {licence} | {', '.join(needed)} |\n" for name, licence, needed in packages)
    return _HEAD + "".join(rows) + _TAIL


def packages() -> list[Package]:
    """All of them by name; of one that is not installed, what the page says already."""
    known = {row.name: row.licence for row in listed()}
    found = []
    for name, needed in sorted(_needed().items()):
        there = installed(name)
        licence = licence_of(there) if there else known.get(name)
        if licence is None:
            raise SystemExit(f"{name}: is not installed, so that its licence is not known; install it and try again")
        found.append(Package(name, licence, tuple(sorted(needed, key=lambda each: (each != RUN, each)))))
    return found


def listed() -> list[Package]:
    """What the page says."""
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    rows = re.findall(r"^\| (\S+) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    return [Package(name, licence, tuple(needed.split(", "))) for name, licence, needed in rows if name != "package"]


def is_compatible(package: Package) -> bool:
    """Whether an Apache-2.0 project may need it there.

    >>> is_compatible(Package("a", "MIT OR GPL-3.0-only", (RUN,))), is_compatible(Package("b", "MPL-2.0", (RUN,)))
    (True, False)
    """
    fine = PERMISSIVE if RUN in package.needed else PERMISSIVE | BY_FILE | BY_LIBRARY
    choices = re.sub(r"[()]", "", package.licence).split(" OR ")
    return any(all(part in fine for part in re.split(r" AND | WITH ", choice)) for choice in choices)


def installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def licence_of(package: Distribution) -> str:
    """In the words of SPDX, as far as the metadata allow."""
    metadata = package.metadata
    if expression := metadata.get("License-Expression"):
        return expression
    classified = [each.rsplit(" :: ", 1)[1] for each in metadata.get_all("Classifier") or [] if each.startswith("License :: ")]
    written = (metadata.get("License") or "").strip().split("\n")[0]
    headed = "" if classified or written else (package.read_text("licenses/LICENSE") or "").strip().split("\n")[0]
    named = [_CALLED.get(each.lower(), each) for each in [*classified, written, headed] if each]
    precise = [each for each in named if each in PERMISSIVE | BY_FILE]
    return max(precise, key=len) if precise else next(iter(named), "unknown")


def direct() -> Iterator[tuple[str, Requirement]]:
    """What pyproject.toml names, each with what needs it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from ((RUN, Requirement(each)) for each in project["dependencies"])
    for extra, names in project["optional-dependencies"].items():
        yield from ((extra, Requirement(each)) for each in names)


def _needed() -> dict[str, set[str]]:
    """Every package with what needs it, directly or not."""
    found: dict[str, set[str]] = {}
    waiting = [(why, each) for why, each in direct() if canonicalize_name(each.name) != SELF]
    seen: set[tuple[str, str, frozenset[str]]] = set()
    while waiting:
        why, each = waiting.pop()
        name = canonicalize_name(each.name)
        key = why, name, frozenset(each.extras)
        if key in seen:
            continue
        seen.add(key)
        found.setdefault(name, set()).add(why)
        there = installed(name)
        for line in (there.requires or []) if there else []:
            further = Requirement(line)
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in ("", *each.extras)):
                waiting.append((why, further))
    for needed in found.values():
        if RUN in needed:
            needed.intersection_update({RUN})
    return found


if __name__ == "__main__":
    PAGE.write_text(text(packages()), encoding="utf-8")
