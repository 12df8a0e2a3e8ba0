"""Whether tests notice a defect."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from typing import NamedTuple

from tools.mutants.defect import Defect
from tools.mutants.tree import Tree

ALL = ("-n", "2", "--dist", "worksteal")
"""What `make test` gives pytest."""

LONGEST = 900
"""Seconds after which tests are taken to hang."""

CAUGHT, MISSED, UNFIT = "caught", "MISSED", "UNFIT"

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?::[^\[\n]+?(?:\[.*?\])?)(?: - .*)?$", re.MULTILINE)


class Outcome(NamedTuple):
    verdict: str
    by: str  # the test that noticed, or why nothing can be said
    seconds: float


def tried(tree: Tree, defect: Defect, tests: list[str], hinted: bool) -> Outcome:
    """Plant a defect, and run its tests; if these pass, all, unless only the hinted ones are wanted."""
    begun = time.monotonic()
    with tree.planted(defect):
        for arguments in [tests] if hinted else [tests, list(ALL)]:
            verdict, by = _run(tree, arguments)
            if verdict != MISSED:
                break
    return Outcome(verdict, by, time.monotonic() - begun)


def sound(tree: Tree, tests: list[str]) -> str:
    """The first of some tests that fails without any defect; nothing if all pass."""
    verdict, by = _run(tree, tests)
    return "" if verdict == MISSED else by


def _run(tree: Tree, arguments: list[str]) -> tuple[str, str]:
    options = f"-x -q -rfE -p no:cacheprovider -p tools.mutants.quick --timeout={LONGEST}"
    command = [sys.executable, "-m", "pytest", *options.split(), *arguments]
    try:
        done = subprocess.run(
            command, cwd=tree.path, env=tree.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=LONGEST,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return CAUGHT, f"no end within {LONGEST} s"
    if done.returncode == 0:
        return MISSED, ""
    if done.returncode == -signal.SIGKILL:
        return UNFIT, "pytest was killed, for want of memory perhaps"
    if done.returncode < 0:
        return CAUGHT, f"a crash by signal {-done.returncode}"
    failed = _FAILED.search(done.stdout)
    if done.returncode == 1 and failed:
        return CAUGHT, failed[1]
    said = " ".join(done.stdout.split()[-30:])
    return UNFIT, f"pytest ended with {done.returncode}: {said}"
