"""The commands and the Python code that do the same as the lab."""

from __future__ import annotations

import shlex
from pathlib import PurePath

from shoal.formats import SUFFIXES

_OUTPUT = "anonymized"


def commands(name: str, is_filter: bool = False) -> str:
    """
    >>> print(commands("my people.csv.gz"), end="")
    shoal check policy.yaml 'my people.csv.gz'
    shoal run policy.yaml 'my people.csv.gz' anonymized.csv.gz --trace private.jsonl
    shoal audit policy.yaml 'my people.csv.gz' anonymized.csv.gz --trace private.jsonl
    """
    file, target = shlex.quote(name), shlex.quote(_target(name))
    secret = 'export SHOAL_SECRET="$(openssl rand -hex 32)"\n' if is_filter else ""
    return (
        f"{secret}shoal check policy.yaml {file}\n"
        f"shoal run policy.yaml {file} {target} --trace private.jsonl\n"
        f"shoal audit policy.yaml {file} {target} --trace private.jsonl\n"
    )


def python(name: str, is_filter: bool = False) -> str:
    """
    >>> print(python("people.csv"), end="")
    import shoal
    from shoal.audit import audit
    <BLANKLINE>
    policy = shoal.Policy.load("policy.yaml")
    stats = shoal.run(policy, 'people.csv', 'anonymized.csv', trace="private.jsonl")
    report = audit(policy, 'people.csv', 'anonymized.csv', "private.jsonl")
    print(stats, report.held)
    """
    secret = "# the variable SHOAL_SECRET holds the secret of the pseudonyms\n" if is_filter else ""
    return (
        f"{secret}import shoal\nfrom shoal.audit import audit\n\n"
        'policy = shoal.Policy.load("policy.yaml")\n'
        f'stats = shoal.run(policy, {name!r}, {_target(name)!r}, trace="private.jsonl")\n'
        f'report = audit(policy, {name!r}, {_target(name)!r}, "private.jsonl")\n'
        "print(stats, report.held)\n"
    )


def _target(name: str) -> str:
    suffix = max((each for each in SUFFIXES if name.lower().endswith(each)), key=len, default=PurePath(name).suffix)
    return f"{_OUTPUT}{suffix}"
