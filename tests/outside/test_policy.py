"""A policy names an algorithm of another package as it names a built-in one; errors name that package."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoal import Anonymizer, Policy, PolicyError, WorkerError
from shoal.anonymizer import compile_kernels, has_machine_code
from shoal.policy import NAMES, all_names, all_windowed, package_of
from tests.outside.packages import CLASS, install, installed

WRITTEN: dict[str, Any] = {
    "person": "pid",
    "attributes": {"age": {"quasi": "numeric", "range": [0, 100]}, "city": {"quasi": "categorical", "values": ["a", "b"]}},
    "privacy": {"k": 2},
    "window": {"count": 4},
    "algorithm": {"name": "near"},
}
RECORDS = [{"pid": i % 7, "age": 13 * i % 100, "city": "ab"[i % 2]} for i in range(30)]
PLACE = "algorithm.name: 'near' of package shoal-sample 1.2"


def parse(**algorithm: Any) -> Policy:
    return Policy.parse({**WRITTEN, "algorithm": {"name": "near", **algorithm}})


def problems(folder: Path, declaration: str = CLASS, **algorithm: Any) -> tuple[str, ...]:
    install(folder, "near", declaration)
    with installed(folder), pytest.raises(PolicyError) as error:
        parse(**algorithm)
    return error.value.problems


def test_names_of_other_packages_follow_the_built_in_ones(tmp_path: Path) -> None:
    install(tmp_path, "near")
    with installed(tmp_path):
        assert all_names() == (*NAMES, "near")
        assert all_windowed()[-1] == "near"
        assert (package_of("near"), package_of("fads")) == ("shoal-sample 1.2", "")
    assert all_names() == NAMES


def test_it_releases_what_the_same_kernel_releases(tmp_path: Path) -> None:
    """FADS without reuse: the nearest k-1 persons of the due tuple."""
    install(tmp_path, "near")
    with installed(tmp_path):
        both = [
            Anonymizer(Policy.parse({**WRITTEN, "algorithm": {"name": name, "reuse_limit": 0}})) for name in ("near", "fads")
        ]
        released = []
        for anonymizer in both:
            found = [shown for record in RECORDS for shown in anonymizer.push(record)]
            released.append(found + anonymizer.to_records(anonymizer.flush()))
        assert released[0] == released[1]
        assert len(released[0]) == len(RECORDS)
        assert not both[0].stats.faults


def test_parameters_have_bounds_and_the_policy_their_names(tmp_path: Path) -> None:
    declaration = CLASS + "    radius: Amount = Field(default=0.5, description='how far')\n"
    install(tmp_path, "near", declaration)
    with installed(tmp_path):
        assert parse(radius=2).algorithm.model_dump()["radius"] == 2
        for wrong, text in (({"radius": -1}, "algorithm.radius: is below 0; use at least 0"),
                            ({"raduis": 1}, "algorithm.raduis: unknown key; did you mean 'radius'?")):  # fmt: skip
            with pytest.raises(PolicyError) as error:
                parse(**wrong)
            assert error.value.problems == (text,)


def test_an_unknown_name_lists_those_of_other_packages(tmp_path: Path) -> None:
    install(tmp_path, "near")
    with installed(tmp_path), pytest.raises(PolicyError) as error:
        Policy.parse({**WRITTEN, "algorithm": {"name": "nera"}})
    assert error.value.problems[0].endswith("other packages add near")


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    assert problems(tmp_path, "import absent_package\n") == (
        f"{PLACE} cannot be loaded (ModuleNotFoundError: No module named 'absent_package'); "
        "update, repair or uninstall that package",
    )


@pytest.mark.parametrize(
    ("declaration", "text"),
    [
        ("Parameters = 3\n", ": shoal_sample:Parameters is no subclass of shoal.policy.Registered; "),
        (CLASS.replace("engine", "page"), ": shoal_sample:Parameters does not say its engine; "),
        (CLASS + "    radius: Amount\n", ": radius has no default that is valid; "),
        (CLASS + "    workers: Count = 2\n", ": no parameter may be called workers, a word of shoal's own; "),
    ],
)
def test_a_class_that_cannot_be_used_is_refused(tmp_path: Path, declaration: str, text: str) -> None:
    assert problems(tmp_path, declaration) == (f"{PLACE}{text}correct the package, or ask its authors",)


def test_two_packages_with_one_name_are_refused(tmp_path: Path) -> None:
    install(tmp_path, "near", package="shoal-other")
    assert problems(tmp_path) == (
        "algorithm.name: 'near' of package shoal-other 1.2 and shoal-sample 1.2 is registered more than once; "
        "uninstall all but one package",
    )


def test_a_broken_package_disturbs_no_built_in_algorithm(tmp_path: Path) -> None:
    install(tmp_path, "near", "import absent_package\n")
    install(tmp_path, "fads", "raise SystemError\n", package="shoal-thief")
    with installed(tmp_path):
        assert Policy.parse({**WRITTEN, "algorithm": {"name": "fads"}}).algorithm.name == "fads"
        assert all_names() == (*NAMES, "near")
        assert has_machine_code("near")  # so that a list of algorithms can be shown


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ("import absent_package\n",
         ": shoal_sample_engine cannot be loaded (ModuleNotFoundError: No module named 'absent_package');"
         " update, repair or uninstall that package"),
        ("", ": shoal_sample_engine defines neither run nor choose; correct the package, or ask its authors"),
    ],
)  # fmt: skip
def test_an_engine_that_cannot_be_used_is_refused(tmp_path: Path, engine: str, text: str) -> None:
    install(tmp_path, "near", engine=engine)
    with installed(tmp_path), pytest.raises(PolicyError) as error:
        Anonymizer(parse())
    assert error.value.problems == (PLACE + text,)


@pytest.mark.parametrize(
    ("engine", "text"),
    [
        ("def choose(waiting):\n    return [1 // 0]\n", "choose raised ZeroDivisionError at shoal_sample_engine.py:2"),
        ("def choose(waiting):\n    return [0, 0]\n", "choose returned a tuple twice, or one that is not there"),
        ("def choose(waiting):\n    return [0, 99]\n", "choose returned a tuple twice, or one that is not there"),
        ("def choose(waiting):\n    return [1, 2]\n",
         "choose left out the tuple that is due; return it too, or nothing at all"),
    ],
)  # fmt: skip
def test_a_wrong_choice_stops_the_stream(tmp_path: Path, engine: str, text: str) -> None:
    install(tmp_path, "near", engine=engine)
    with installed(tmp_path):
        anonymizer = Anonymizer(parse())
        with pytest.raises(WorkerError) as error:
            for record in RECORDS:
                anonymizer.push(record)
        assert str(error.value).startswith(f"{PLACE}: {text}; correct it, or use another algorithm; ")
        with pytest.raises(WorkerError, match="an earlier call failed"):
            anonymizer.push(RECORDS[0])


def test_too_few_persons_are_stopped_by_the_door(tmp_path: Path) -> None:
    install(tmp_path, "near", engine="def choose(waiting):\n    return [waiting.due]\n")
    with installed(tmp_path):
        anonymizer = Anonymizer(parse())
        for record in RECORDS:
            anonymizer.push(record)
        anonymizer.flush()
        assert anonymizer.stats.suppressed == len(RECORDS)
        assert anonymizer.stats.faults["too_small"] > 0


def test_its_deadline_is_the_declared_one(tmp_path: Path) -> None:
    from shoal.algorithms import algorithm
    from shoal.audit.algorithms import deadline, rule

    install(tmp_path, "near", CLASS + "    def longest_wait(self, window):\n        return 3 * window.length\n")
    with installed(tmp_path):
        policy = parse()
        assert algorithm(policy).deadline == deadline(policy) == 12
        assert rule(policy).source == "the deadline of near is the one that package shoal-sample 1.2 declares"
        buffered = Policy.parse({**WRITTEN, "window": {"buffer": 4}})
        assert deadline(buffered) == math.inf


def test_memory_is_saved_with_the_snapshot(tmp_path: Path) -> None:
    engine = """
from typing import NamedTuple
import numpy as np

class Memory(NamedTuple):
    groups: np.ndarray

def memory(policy):
    return Memory(np.zeros(1, np.int64))

def choose(waiting):
    waiting.memory.groups[0] += 1
    others = waiting.first_of_each([waiting.due, *range(len(waiting))])[1:]
    return [waiting.due, *(others[::-1] if waiting.memory.groups[0] % 2 else others)[: waiting.k - 1]]
"""
    install(tmp_path, "near", engine=engine)
    with installed(tmp_path):
        straight, first, second = (Anonymizer(parse()) for _ in range(3))
        expected = [shown for record in RECORDS for shown in straight.push(record)]
        found = [shown for record in RECORDS[:11] for shown in first.push(record)]
        second.restore(first.snapshot())
        assert found + [shown for record in RECORDS[11:] for shown in second.push(record)] == expected


def test_kernels_are_compiled_for_it(tmp_path: Path) -> None:
    install(tmp_path, "near")
    with installed(tmp_path):
        compile_kernels("near")
        assert has_machine_code("near")


def test_help_looks_up_no_entry_points() -> None:
    code = "import sys; from shoal.cli import main; sys.argv = ['shoal', '--help']\ntry: main()\nexcept SystemExit: pass\n"
    code += "assert 'importlib.metadata' not in sys.modules and 'shoal.policy' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
