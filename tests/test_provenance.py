"""What reports say about where their figures come from."""

from __future__ import annotations

import gzip
import hashlib
import subprocess
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.provenance import UNKNOWN, called, commit, digest, digests, provenance


def git(folder: Path, *arguments: str) -> str:
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(
        ["git", "-C", str(folder), *settings, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    home = tmp_path / "src" / "shoal"
    home.mkdir(parents=True)
    (home / "a.py").write_text("1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "first")
    return home


def test_the_commit_of_a_checkout(package: Path) -> None:
    assert commit(package) == git(package, "rev-parse", "HEAD")


def test_changed_sources_are_marked(package: Path) -> None:
    (package / "a.py").write_text("2\n")
    assert commit(package) == f"{git(package, 'rev-parse', 'HEAD')}+"


def test_the_commit_of_somebody_elses_repository_is_not_ours(package: Path) -> None:
    other = package.parents[1] / "venv" / "shoal"
    other.mkdir(parents=True)
    assert commit(other) == UNKNOWN


def test_a_packed_file_has_the_digest_of_its_content(tmp_path: Path) -> None:
    plain, packed = tmp_path / "a.csv", tmp_path / "b.csv.gz"
    plain.write_bytes(b"1,2\n")
    packed.write_bytes(gzip.compress(b"1,2\n"))
    expected = hashlib.sha256(b"1,2\n").hexdigest()
    assert digests([plain, packed]) == {"a.csv": expected, "b.csv": expected}


@pytest.mark.parametrize("place", [10, 20])
def test_a_damaged_file_is_refused(tmp_path: Path, place: int) -> None:
    broken = tmp_path / "a.csv.gz"
    broken.write_bytes(gzip.compress(b"1" * 1000)[:place] + (b"\xff" * 20 if place == 10 else b""))
    with pytest.raises(InputError, match="cannot be read; check that it is a whole file, and its permissions"):
        digest(broken)


def test_the_command_has_no_folder_of_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/home/somebody/bin/shoal", "compare", "a file.csv"])
    assert called() == "shoal compare 'a file.csv'"
    assert provenance("a machine").command == called()
