"""What is handed out: one version, known licences, a unit that systemd accepts, packages that install and work."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.utils import canonicalize_name
from tools import licences
from tools.package import ROOT, built, tried

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNIT = (ROOT / "deploy/shoal.service").read_text(encoding="utf-8")


def test_the_version_has_one_source() -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", log, re.MULTILINE)[0] == PROJECT["version"]
    assert re.findall(r"^Version (\S+),", readme, re.MULTILINE) == [PROJECT["version"]]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)", citation, re.MULTILINE) == [PROJECT["version"]]
    assert [path for path in ROOT.glob("src/**/*.py") if "__version__ =" in path.read_text(encoding="utf-8")] == []


def test_the_change_log_has_its_sections() -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for release in re.split(r"^## ", log, flags=re.MULTILINE)[1:]:
        assert re.findall(r"^### (.+)$", release, re.MULTILINE) == ["Guarantee", "Behaviour", "Speed", "Fixed"]


def test_our_licence() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_licences_are_listed() -> None:
    """Of what is installed, as its metadata tell; direct requirements in any case."""
    listed = {row.name: row.licence for row in licences.listed()}
    named = {canonicalize_name(each.name) for _, each in licences.direct()} - {licences.SELF}
    assert named - set(listed) == set()
    there = {name: found for name in listed if (found := licences.installed(name))}
    assert {name: licences.licence_of(found) for name, found in there.items()} == {name: listed[name] for name in there}


def test_licences_are_compatible() -> None:
    assert [row for row in licences.listed() if not licences.is_compatible(row)] == []


def test_a_tool_has_the_name_of_no_package() -> None:
    """A script that runs by its path finds the modules beside it first: `import shoal` must not find a tool."""
    tools = {path.stem for path in (ROOT / "tools").glob("*.py")} - {"__init__"}
    assert tools & {*packages_distributions(), "shoal"} == set()


@pytest.mark.parametrize("licence", ["GPL-3.0-only", "AGPL-3.0-or-later", "Proprietary", "unknown", "MIT AND GPL-2.0-only"])
def test_a_licence_that_does_not_fit_is_noticed(licence: str) -> None:
    assert not licences.is_compatible(licences.Package("a", licence, ("test",)))


@pytest.mark.parametrize(
    "line",
    [
        "ExecStart=/opt/shoal/bin/shoal pipe /etc/shoal/pipeline.yaml",
        "User=shoal", "NoNewPrivileges=yes", "ProtectSystem=strict", "StateDirectoryMode=0700", "UMask=0077", "LimitCORE=0",
    ],
)  # fmt: skip
def test_the_unit_says(line: str) -> None:
    assert f"\n{line}\n" in UNIT


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="systemd-analyze is not there: apt-get install systemd")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "shoal.service"
    unit.write_text(UNIT.replace("/opt/shoal/bin/shoal", sys.executable))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "shoal.service" not in done.stderr
    assert done.returncode == 0, done.stderr
    unit.write_text(unit.read_text().replace("ProtectHome=yes", "ProtectHome=perhaps"))
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert "Failed to parse protect home value" in done.stderr


def test_the_container_runs_as_a_user_of_its_own() -> None:
    lines = (ROOT / "deploy/Containerfile").read_text(encoding="utf-8").splitlines()
    assert lines.index("USER shoal") < lines.index('ENTRYPOINT ["shoal"]')
    assert lines[-1] == 'CMD ["pipe", "/etc/shoal/pipeline.yaml"]'


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_packages_install_and_work(tmp_path: Path) -> None:
    wheel, source = built(tmp_path / "dist")
    names = ZipFile(wheel).namelist()
    modules = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src/shoal").rglob("*.py")}
    assert modules <= set(names)
    assert {"shoal/py.typed", "shoal/policy.schema.json", "shoal/hierarchies/ready/countries.csv"} <= set(names)
    assert {name.split("/")[0] for name in names} == {"shoal", f"shoal_stream-{PROJECT['version']}.dist-info"}
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "LICENSES.md", "tests/naive/fads.py", "docs/policy.md", "tools/site.py"} <= inside
    for number, package in enumerate((wheel, source)):
        home = tmp_path / str(number)
        home.mkdir()
        assert tried(package, home) == PROJECT["version"]


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_extras_resolve() -> None:
    extras = ",".join(PROJECT["optional-dependencies"])
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed", f"{ROOT}[{extras}]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
