"""Every algorithm of another package keeps all promises, and releases what its naive twin releases, if it declares one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shoal import Anonymizer, run
from shoal.audit import Verdict, audit
from shoal.conformance import promises, stronger
from shoal.conformance.cutting import is_the_same_in_batches, is_the_same_interrupted
from shoal.conformance.naive import Algorithm
from shoal.conformance.parameters import examples_of, generated, promised
from shoal.conformance.streams import Stream, engine, policy_of, twin
from shoal.demo import prepare
from shoal.policy import Parameters, Registered, outside_names, parameters_of

FEW = settings(
    max_examples=settings.default.max_examples, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True
)
GOOD = (Verdict.HELD, Verdict.NOT_PROMISED)
every = pytest.mark.parametrize("name", outside_names())


def declared(name: str) -> type[Registered]:
    found = parameters_of(name)
    assert found is not None and issubclass(found, Registered)
    return found


def twin_of(name: str) -> type[Algorithm] | None:
    module, _, kind = declared(name).twin.partition(":")
    return getattr(import_module(module), kind) if module else None


@every
def test_its_class_declares_it(name: str) -> None:
    """Every parameter of its own has examples, which generated streams use, and a description."""
    own = {key: field for key, field in declared(name).model_fields.items() if key not in Parameters.model_fields}
    assert [key for key, field in own.items() if not field.description] == []
    assert sorted(examples_of(name)) == sorted(own)


@every
def test_it_keeps_the_promises(name: str) -> None:
    """Each arrival leaves once, in time, inside what it shows, in a group of k persons; the door has nothing to stop."""
    kind = twin_of(name)

    @FEW
    @given(generated(name))
    def kept(stream: Stream) -> None:
        anonymizer = Anonymizer(policy_of(name, stream))
        releases = engine(anonymizer, stream)
        promises.check(stream, releases, name)
        assert dict(anonymizer.stats.faults) == {}
        assert kind is None or releases == twin(kind, stream)

    kept()


@every
def test_it_keeps_stronger_promises(name: str) -> None:
    """The same with l, t, weights, a stretched window and other readings of nulls."""
    kind = twin_of(name)

    @FEW
    @given(promised(name))
    def kept(stream: Stream) -> None:
        anonymizer = Anonymizer(policy_of(name, stream))
        releases = engine(anonymizer, stream)
        stronger.check(stream, releases, name)
        assert dict(anonymizer.stats.faults) == {}
        assert kind is None or releases == twin(kind, stream)

    kept()


@every
def test_batches_equal_single_records(name: str) -> None:
    @FEW
    @given(st.one_of(generated(name), promised(name)))
    def equal(stream: Stream) -> None:
        is_the_same_in_batches(policy_of(name, stream), stream)

    equal()


@every
def test_a_snapshot_and_a_restore_change_nothing(name: str) -> None:
    @FEW
    @given(st.one_of(generated(name), promised(name)), st.data())
    def equal(stream: Stream, data: st.DataObject) -> None:
        is_the_same_interrupted(policy_of(name, stream), stream, data)

    equal()


@every
def test_the_audit_finds_nothing(name: str, tmp_path: Path) -> None:
    """On the stream of `shoal demo`, from file to file."""
    demo = prepare(tmp_path / "demo", 2000, algorithm=name)
    run(demo.policy, demo.source, demo.target, trace=demo.trace)
    report: Any = audit(demo.policy, demo.source, demo.target, trace=demo.trace)
    assert [finding.promise for finding in report.promises if finding.verdict not in GOOD] == []
