"""The folder of a demo: policy, hierarchies and input."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from string import Template
from typing import NamedTuple

from shoal.demo.wearables import ACTIVITIES, DISTRICTS, wearables
from shoal.errors import InputError, PolicyError
from shoal.formats import open_writer
from shoal.policy import DEFAULT_NAME, WINDOWED, Policy, all_windowed, needs_reuse_age

MARK = "# Written by `shoal demo`"
K = 20

_POLICY = Template("""$mark: wearables report what their devices measure; each tuple leaves as one of $k persons.
person: pid                       # never published
time: {field: ts, publish: generalize}  # all rows of a group show one interval, to the second
attributes:                       # what is not listed is not published
  age:       {quasi: numeric, range: [18, 95], grid: 5}
  pulse:     {quasi: numeric, range: [30, 220], grid: 5}
  steps:     {quasi: numeric, range: [0, 12000], grid: 100}
  skin:      {quasi: numeric, range: [28, 38], grid: 1}
  activity:  {quasi: categorical, hierarchy: activity.csv}
  district:  {quasi: categorical, hierarchy: district.csv}
  illness:   {sensitive: true}    # published as it is
privacy: {k: $k}
window: {time: 10s}               # no tuple waits longer
algorithm: {name: $name$more}
""")


class Demo(NamedTuple):
    """The files of a demo."""

    policy: Path
    source: Path
    target: Path
    trace: Path


def prepare(folder: str | PathLike[str], tuples: int = 50_000, *, seed: int = 0, algorithm: str = DEFAULT_NAME) -> Demo:
    """Write the policy, its hierarchies and a stream into a folder.

    Raises InputError if the folder holds something else than an earlier demo, or cannot be written, and PolicyError
    if there is no such algorithm.
    """
    policy = _written(algorithm)
    home = Path(folder)
    demo = Demo(*(home / name for name in ("policy.yaml", "wearables.jsonl", "anonymized.jsonl", "trace.jsonl")))
    try:
        _claim(home, demo.policy)
        demo.policy.write_text(policy, encoding="utf-8")
        (home / "activity.csv").write_text(_hierarchy(ACTIVITIES, "any"), encoding="utf-8")
        (home / "district.csv").write_text(_hierarchy(DISTRICTS, "City"), encoding="utf-8")
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({(error.strerror or 'no access').lower()})") from None
    with open_writer(str(demo.source)) as writer:
        for batch in wearables(tuples, seed):
            writer.write(batch)
    return demo


def policy_of(algorithm: str = DEFAULT_NAME) -> Policy:
    """The demo's policy with its hierarchies inside, without a folder. Raises PolicyError if there is no such algorithm."""
    return Policy.parse(policy_text(algorithm))


def policy_text(algorithm: str = DEFAULT_NAME) -> str:
    """The same as text."""
    text = _written(algorithm)
    for file, root, tree in (("activity.csv", "any", ACTIVITIES), ("district.csv", "City", DISTRICTS)):
        text = text.replace(file, json.dumps({root: tree}))
    return text


def _written(algorithm: str) -> str:
    """The text of the policy; the algorithm must have a window."""
    if algorithm not in WINDOWED and algorithm not in all_windowed():
        raise PolicyError([f"algorithm: {algorithm!r} is none; known are {', '.join(all_windowed())}"])
    more = ", reuse_age: 60s" if needs_reuse_age(algorithm) else ""
    return _POLICY.substitute(mark=MARK, k=K, name=algorithm, more=more)


def _claim(home: Path, policy: Path) -> None:
    """Make the folder; refuse one that holds other files than an earlier demo."""
    home.mkdir(parents=True, exist_ok=True)
    is_demo = policy.is_file() and policy.read_bytes().startswith(MARK.encode())
    if any(home.iterdir()) and not is_demo:
        raise InputError(f"{home}: holds other things than an earlier demo; name another folder, or empty this one")


def _hierarchy(tree: Mapping[str, Sequence[str]], root: str) -> str:
    return "".join(f"{leaf};{group};{root}\n" for group, leaves in tree.items() for leaf in leaves)
