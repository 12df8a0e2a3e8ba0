"""Files as people have them: what `infer` finds, and that a run and the judge read the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.config import read_yaml
from shoal.errors import InputError
from shoal.infer import draft, study
from ugly.make import CASES, FOLDER, Ugly


def test_the_folder_holds_just_these_files() -> None:
    assert len(CASES) >= 40
    assert {path.name: path.read_bytes() for path in FOLDER.iterdir()} == {case.name: case.data for case in CASES}


@pytest.mark.parametrize("case", [case for case in CASES if not case.error], ids=lambda case: case.name)
def test_what_is_found_in_an_ugly_file(case: Ugly) -> None:
    seen = study(str(FOLDER / case.name), 1000).sample
    assert str(seen.written) == case.said
    assert seen.written.settings(case.name) == case.settings
    assert (seen.rows, seen.bad) == (case.rows, case.bad)
    assert tuple(field.name for field in seen.fields) == case.fields
    drafted = read_yaml(draft(FOLDER / case.name)).get("input", {})
    assert {key: value for key, value in drafted.items() if key != "times"} == case.settings


@pytest.mark.parametrize("case", [case for case in CASES if case.error], ids=lambda case: case.name)
def test_an_ugly_file_that_is_refused(case: Ugly) -> None:
    path = FOLDER / case.name
    with pytest.raises(InputError) as caught:
        draft(path)
    assert str(caught.value) == f"{path}: {case.error}"


def test_random_bytes_are_refused_by_every_command(tmp_path: Path) -> None:
    import shoal
    from shoal.checks import check

    policy = shoal.Policy.parse(
        "{person: none, attributes: {age: {quasi: numeric, range: [0, 9], grid: 1}}, privacy: {k: 2}, window: {count: 9}}"
    )
    path = FOLDER / "random.csv"
    with pytest.raises(InputError, match="is no text"):
        shoal.run(policy, path, tmp_path / "out.csv")
    assert not list(tmp_path.iterdir())
    assert [problem.partition(": ")[2] for problem in check(policy, path).problems] == [
        "is no text, since it holds bytes that no text has; is the name of the file right?"
    ]
