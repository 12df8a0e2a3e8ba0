"""What a report needs so that others can cite and repeat it: version, commit, command, seed, digests of the data."""

from __future__ import annotations

import hashlib
import json
import shlex
import subprocess
import sys
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from shoal.errors import InputError

PACKAGE = "shoal-stream"
UNKNOWN = "unknown"


@dataclass(frozen=True)
class Provenance:
    """Where figures come from."""

    version: str
    commit: str  # of the sources; "+" after it: they were changed since; "unknown" where shoal is no checkout
    command: str
    machine: str
    seeds: Sequence[int] = ()
    digests: Mapping[str, str] = field(default_factory=dict)  # SHA-256, by the name of the file or of the stream

    def lines(self) -> list[tuple[str, str]]:
        """Pairs of a name and a text, in the order in which reports show them."""
        data = "; ".join(f"{name} {digest}" for name, digest in self.digests.items()) or "none"
        seeds = ", ".join(map(str, self.seeds)) or "none"
        return [
            ("version", self.version), ("commit", self.commit), ("command", self.command), ("machine", self.machine),
            ("seeds", seeds), ("data, SHA-256", data),
        ]  # fmt: skip

    def markdown(self) -> str:
        """
        >>> print(Provenance("1.0", "abc", "shoal compare", "a machine", (0, 1), {"a.csv": "12ef"}).markdown())
        - version: 1.0
        - commit: abc
        - command: `shoal compare`
        - machine: a machine
        - seeds: 0, 1
        - data, SHA-256: a.csv 12ef
        """
        return "\n".join(f"- {name}: {f'`{text}`' if name == 'command' else text}" for name, text in self.lines())

    def columns(self) -> dict[str, str]:
        """The same as columns of a table of figures."""
        found = dict(self.lines())
        found["data_sha256"] = found.pop("data, SHA-256")
        return found

    def short_columns(self) -> dict[str, str]:
        """The same for tables of many lines: one digest of all digests."""
        return {**self.columns(), "data_sha256": self.data_sha256}

    @property
    def data_sha256(self) -> str:
        """One digest of the names and digests of all data."""
        return hashlib.sha256(json.dumps(dict(self.digests), sort_keys=True).encode()).hexdigest()


def provenance(machine: str, seeds: Sequence[int] = (), digests: Mapping[str, str] | None = None) -> Provenance:
    """The provenance of what this process computes."""
    return Provenance(version(), commit(), called(), machine, tuple(seeds), dict(digests or {}))


def version() -> str:
    """The version of shoal that is installed."""
    try:
        return distribution(PACKAGE).version
    except PackageNotFoundError:
        return "not installed"


def commit(package: Path = Path(__file__).parent) -> str:
    """The commit of the checkout that the package lies in, else the one that it was installed from, else unknown."""
    top = _git(package, "rev-parse", "--show-toplevel")
    if top is None or Path(top, "src", package.name).resolve() != package.resolve():
        return _installed_from() or UNKNOWN
    changed = _git(package, "status", "--porcelain", "--untracked-files=no", "--", ".")
    return f"{_git(package, 'rev-parse', 'HEAD')}{'+' if changed else ''}"


def called() -> str:
    """The command of this process, as one can type it again.

    The program is named without its folder.
    """
    program = "shoal" if Path(sys.argv[0]).name == "__main__.py" else Path(sys.argv[0]).name
    return shlex.join([program, *sys.argv[1:]])


def digest(path: Path) -> str:
    """SHA-256 of a file; of a gzipped one, that of what is packed in it, so that both give the same."""
    import gzip

    found = hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            while block := stream.read(2**20):
                found.update(block)
    except (OSError, EOFError, zlib.error):
        raise InputError(f"{path}: cannot be read; check that it is a whole file, and its permissions") from None
    return found.hexdigest()


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """The digest of each file, by its name without `.gz`."""
    return {path.name.removesuffix(".gz"): digest(path) for path in paths}


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout.strip()


def _installed_from() -> str | None:
    """The commit that pip installed from, if it was told a repository."""
    try:
        written = distribution(PACKAGE).read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    found = json.loads(written or "{}").get("vcs_info", {}).get("commit_id")
    return str(found) if found else None
