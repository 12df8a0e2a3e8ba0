"""A check before a run: the policy alone, and a sample of data against it."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath

from shoal.checks.sample import SampleCheck
from shoal.errors import InputError, PolicyError
from shoal.formats import differs
from shoal.policy import Policy

Name = str | PathLike[str]


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a check found: one line of text per finding, without any value of the data."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    rows: int | None = None  # of the sample; None if no data was read
    complete: bool = False  # whether the sample is all of the data

    @property
    def ok(self) -> bool:
        return not self.problems


def check(policy: Policy | Name, source: Name | None = None, *, rows: int = 10_000) -> Findings:
    """Check a policy, and the first records of a file against it.

    Parameters
    ----------
    policy
        A policy, or the path of one.
    source
        A file as `run` reads it; None checks the policy alone.
    rows
        The size of the sample.

    Examples
    --------
    >>> check("absent.yaml").problems
    ('absent.yaml: does not exist; correct the path',)
    """
    try:
        policy = policy if isinstance(policy, Policy) else Policy.load(policy)
    except PolicyError as error:
        unseen = () if source is None else ("the data was not looked at, since the policy cannot be used",)
        return Findings(problems=error.problems, warnings=unseen)
    if source is None:
        return Findings(warnings=policy.notes)
    sample = _sample_check(policy)
    broken = []
    try:
        seen = differs(fspath(source), policy.input.dialect)
        broken += [seen] if seen else []
        sample.read(fspath(source), rows)
    except InputError as error:
        broken = [str(error)]
    if broken and not sample.rows:
        return Findings(problems=tuple(broken), warnings=policy.notes)
    return Findings(
        problems=(*broken, *sample.problems()),
        warnings=(*policy.notes, *sample.warnings()),
        rows=sample.rows,
        complete=sample.complete,
    )


def _sample_check(policy: Policy) -> SampleCheck:
    """The check of the data, imported only when needed."""
    if policy.is_filter:
        from shoal.checks.observations import ObservationCheck

        return ObservationCheck(policy)
    from shoal.checks.tuples import TupleCheck

    return TupleCheck(policy)
