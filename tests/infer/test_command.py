from __future__ import annotations

from pathlib import Path

import pytest

from cli.base import shoal_run
from infer.base import records, write

pytestmark = pytest.mark.slow


def test_infer_then_check(tmp_path: Path) -> None:
    write(tmp_path, ".csv", records())
    done = shoal_run("infer", "people.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "people.csv: commas between fields, UTF-8, a header\n")
    (tmp_path / "policy.yaml").write_text(done.stdout)
    checked = shoal_run("check", "policy.yaml", "people.csv", cwd=tmp_path)
    assert checked.returncode == 0, checked.stdout
    assert "policy.yaml with all 400 rows of people.csv: no problems" in checked.stdout


def test_standard_input(tmp_path: Path) -> None:
    lines = write(tmp_path, ".jsonl", records()).read_text()
    done = shoal_run("infer", "-", "--rows", "200", cwd=tmp_path, stdin=lines)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("# A draft by `shoal infer`, from a sample, the first 200 rows of standard input (more")


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("none.csv", "none.csv: cannot be read (no such file or directory); check the name and the permissions\n"),
        ("empty.jsonl", "empty.jsonl: has no records, since a draft needs some to look at\n"),
    ],
)
def test_what_cannot_be_used(tmp_path: Path, name: str, told: str) -> None:
    (tmp_path / "empty.jsonl").touch()
    done = shoal_run("infer", name, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", told)
