"""Projects of ARX, made here in the form in which ARX writes them."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from cli.base import shoal_run
from shoal.errors import InputError
from shoal.infer import arx, from_arx
from shoal.policy import Policy

pytestmark = pytest.mark.slow

AGES = "34;30-39;*\n36;30-39;*\n51;50-59;*\n"
TOWNS = "Paris;France\nLyon;France\nOslo;Norway\n"


def attribute(name: str, role: str, datatype: str = "String", ref: bool = False, more: str = "") -> str:
    told = f"<name>{name}</name><type>{role}_ATTRIBUTE</type><datatype>{datatype}</datatype>"
    told += f"<ref>hierarchies/{name}.csv</ref><min>All</min><max>All</max>" if ref else ""
    return f"\t<assigment>\n\t\t{told}{more}\n\t</assigment>\n"


ATTRIBUTES = (
    attribute("name", "IDENTIFYING")
    + attribute("age", "QUASI_IDENTIFYING", "Integer", True)
    + attribute("town", "QUASI_IDENTIFYING", ref=True, more="<microAggregationFunction>Set</microAggregationFunction>")
    + attribute("weight", "QUASI_IDENTIFYING", "Decimal")
    + attribute("ill&#233;", "SENSITIVE")
    + attribute("remark", "INSENSITIVE")
)
CRITERIA = ("5-anonymity", "distinct-3-diversity for attribute 'ill'", "0.2-closeness with equal distance for attribute 'ill'")


def project(folder: Path, parts: dict[str, Any] | None = None, criteria: tuple[str, ...] = CRITERIA) -> Path:
    told = "".join(f"<criterion>{each.replace('<', '&lt;')}</criterion>" for each in criteria)
    files = {
        "metadata.xml": "<metadata><version>3.9.1</version><vocabulary>2.0</vocabulary></metadata>",
        "project.xml": "<project><name>p</name><separator>;</separator></project>",
        "project.dat": b"\xac\xed\x00\x05 secret",
        "data/input.csv": "name;age\nsecret;34\n",
        "input/config.xml": f"<config><relativeMaxOutliers>0.05</relativeMaxOutliers><criteria>{told}</criteria></config>",
        "input/definition.xml": f"<definition>\n{ATTRIBUTES}</definition>",
        "input/hierarchies/age.csv": AGES,
        "input/hierarchies/town.csv": TOWNS,
    }
    path = folder / "people.deid"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**files, **(parts or {})}.items():
            if text is not None:
                archive.writestr(name, text)
    return path


def test_the_settings_become_a_policy(tmp_path: Path) -> None:
    text = from_arx(project(tmp_path))
    policy = Policy.parse(text)
    assert policy.person is None and policy.privacy.k == 5 and policy.window.length == 250
    assert {name: attribute.role for name, attribute in policy.attributes.items()} == {
        "age": "categorical", "town": "categorical", "illé": "sensitive", "remark": "kept",
    }  # fmt: skip
    trees = {name: attribute.hierarchy for name, attribute in policy.quasi}
    assert trees["age"] and trees["age"].lines() == [["34", "30-39", "*"], ["36", "30-39", "*"], ["51", "50-59", "*"]]
    assert trees["town"] and trees["town"].lines()[2] == ["Oslo", "Norway", "*"]
    assert "secret" not in text


def test_what_is_not_carried_over_is_said(tmp_path: Path) -> None:
    text = " ".join(from_arx(project(tmp_path, criteria=("(1.0E-6)-differential privacy",))).replace("#", "").split())
    assert "'weight' is left out, but is quasi-identifying: it has no hierarchy." in text
    assert "ARX aggregates it; this is not carried over." in text
    assert "DECIDE k: the project does not ask for k-anonymity." in text
    told = "Not carried over: (1.0E-6)-differential privacy; the limit of suppressed records, a share of 0.05."
    assert told in text
    assert "Identifying in the project: 'name'." in text


@pytest.mark.parametrize(
    ("criteria", "setting"),
    [
        (CRITERIA, "l: 3"),
        (CRITERIA, "t: 0.2"),
        (("shannon-entropy-2.5-diversity for attribute 'a'",), "l: {entropy: 2.5}"),
        (("recursive-(4.0,3)-diversity for attribute 'a'",), "l: {recursive: [4, 3]}"),
        (("0.1-closeness with hierarchical ground-distance for attribute 'a'",), "t: 0.1"),
    ],
)
def test_diversity_and_closeness_are_settings_or_said(tmp_path: Path, criteria: tuple[str, ...], setting: str) -> None:
    text = from_arx(project(tmp_path, criteria=criteria))
    Policy.parse(text)
    assert setting in " ".join(text.replace("#", "").split())


def test_hierarchies_as_files(tmp_path: Path) -> None:
    text = from_arx(project(tmp_path), tmp_path)
    assert (tmp_path / "age.csv").read_text() == AGES
    assert Policy.parse(text, tmp_path) == Policy.parse(from_arx(project(tmp_path)))
    with pytest.raises(InputError) as caught:
        from_arx(project(tmp_path), tmp_path)
    assert str(caught.value) == f"{tmp_path / 'age'}.csv: already exists; remove it, or name another folder"


def test_another_separator_and_leaves_beside_nodes(tmp_path: Path) -> None:
    parts = {
        "project.xml": "<project><separator>,</separator></project>",
        "input/hierarchies/age.csv": "34,30-39,*\n99,*,*\n",
        "input/hierarchies/town.csv": "a,b\na,c\n",
    }
    text = from_arx(project(tmp_path, parts))
    tree = Policy.parse(text).attributes["age"].hierarchy
    assert tree and tree.lines() == [["34", "30-39", "*"], ["99", "*"]]
    assert "its hierarchy is not a tree" in " ".join(text.replace("#", "").split())


def test_a_project_without_quasi_identifiers_is_still_a_policy(tmp_path: Path) -> None:
    definition = f"<definition>{attribute('ill', 'SENSITIVE')}</definition>"
    assert "to_be_decided" in Policy.parse(from_arx(project(tmp_path, {"input/definition.xml": definition}))).attributes


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"input/config.xml": None},
         "has no input/definition.xml and input/config.xml; give a project that was saved by ARX"),
        ({"input/config.xml": '<!DOCTYPE x [<!ENTITY a "b">]><config>&a;</config>'},
         "input/config.xml declares entities, which ARX does not; it is not read"),
        ({"input/config.xml": "<config>"}, "input/config.xml is not XML; save the project again"),
        ({"input/definition.xml": "x" * 2000}, "a part of it is larger than 0 MB; it is not read"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: dict[str, Any], told: str) -> None:
    if "larger" in told:
        monkeypatch.setattr(arx, "LARGEST", 1999)
    path = project(tmp_path, parts)
    with pytest.raises(InputError) as caught:
        from_arx(path)
    assert str(caught.value) == f"{path}: {told}"


def test_the_command(tmp_path: Path) -> None:
    project(tmp_path)
    done = shoal_run("infer", "--from-arx", "people.deid", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "policy.yaml").write_text(done.stdout)
    assert shoal_run("check", "policy.yaml", cwd=tmp_path).returncode == 0
    (tmp_path / "no.deid").write_text("no archive")
    told = "no.deid: is not an archive of ARX, or is damaged; save the project again\n"
    assert shoal_run("infer", "--from-arx", "no.deid", cwd=tmp_path).stderr == told
    both = "infer: give INPUT, --schema FILE, or --from-arx FILE with or without --hierarchies; not several\n"
    assert shoal_run("infer", cwd=tmp_path).stderr == both
