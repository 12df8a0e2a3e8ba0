"""Risk against loss: variations of a form, each tried and audited as one dot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoal.anonymizer import has_machine_code
from shoal.errors import PolicyError
from shoal.lab.form import Form
from shoal.lab.policy_text import as_policy
from shoal.policy import FILTER, Policy, all_names

K = (1.0, 2.0, 0.5, 4.0, 0.25)
WINDOWS = (1.0, 2.0, 0.5)
READINGS = ("blurred", "extended", "root", "maybe")
L = ("2", "3")


def variations(form: Form) -> list[dict[str, Any]]:
    """What a sweep tries: changes of the form, those that are quickly tried first.

    k from a quarter to four times that of the form, each under half, the same and twice the window; the other readings of
    nulls; sets instead of nodes, or the other way round; l; and every algorithm, last those that must be compiled first. A
    change that makes the policy invalid is left out.

    Raises PolicyError if the form's own policy is not valid.
    """
    policy = Policy.parse(as_policy(form))
    if policy.is_filter:
        raise PolicyError([f"algorithm.name: {policy.algorithm.name} has no groups; choose an algorithm that has k"])
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for change in _changes(form, policy):
        if _is_valid(changed(form, change)):
            found.setdefault(tuple(change.items()), change)
    return list(found.values())


def changed(form: Form, change: dict[str, Any]) -> Form:
    """The form with a change; `generalize` is for all categorical fields."""
    rest = {key: value for key, value in change.items() if key != "generalize"}
    fields = form.fields
    if "generalize" in change:
        shown = {"generalize": change["generalize"]}
        fields = [entry.model_copy(update=shown) if entry.role == "categorical" else entry for entry in fields]
    return form.model_copy(update={**rest, "fields": fields})


def _changes(form: Form, policy: Policy) -> Iterator[dict[str, Any]]:
    k, window = policy.privacy.k, policy.window
    whole = not window.timed
    for factor in K:
        for longer in WINDOWS:
            length = window.length * longer
            yield {"k": str(max(2, round(factor * k))), "window": _length(max(k, length) if whole else length, whole)}
    for reading in READINGS:
        if reading != policy.privacy.nulls_match:
            yield {"nulls_match": reading}
    if any(entry.role == "categorical" for entry in form.fields):
        shown = {entry.generalize or "node" for entry in form.fields if entry.role == "categorical"}
        yield from ({"generalize": each} for each in ("set", "node") if shown != {each})
    if policy.requirements or any(entry.role == "sensitive" for entry in form.fields):
        yield from ({"l": each} for each in L if form.l != each)
        if form.l:
            yield {"l": ""}
    others = [name for name in all_names() if name not in (form.algorithm, FILTER)]
    yield from ({"algorithm": name} for name in sorted(others, key=lambda name: not has_machine_code(name)))


def _length(length: float, whole: bool) -> str:
    return str(round(length)) if whole or length == round(length) else repr(length)


def _is_valid(form: Form) -> bool:
    try:
        Policy.parse(as_policy(form))
    except PolicyError:
        return False
    return True
