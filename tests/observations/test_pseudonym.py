"""Pseudonyms are those of the standard library's HMAC, rotate with the window, and need a secret."""

from __future__ import annotations

import hashlib
import hmac
import struct
from fractions import Fraction
from math import floor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from observations.base import SECRET, policy
from shoal import Anonymizer, Policy, PolicyError
from shoal.columns.fingerprint import keys_of
from shoal.columns.periods import periods
from shoal.columns.pseudonym import Pseudonyms
from shoal.policy import canonical

KEY = np.array([3, 5], np.uint64)
PEOPLE = st.one_of(st.integers(-(2**63), 2**63 - 1).map(str), st.text(max_size=70))


def expected(secret: bytes, period: int, person: str) -> str:
    text = canonical(person) or ""
    return hmac.new(secret, struct.pack(">q", period) + text.encode(), hashlib.sha256).hexdigest()[:32]


@given(
    secret=st.binary(min_size=16, max_size=80),
    people=st.lists(st.tuples(PEOPLE, st.integers(-(2**63), 2**63 - 1)), max_size=40),
    again=st.lists(st.integers(0, 39), max_size=40),
)
def test_it_is_hmac_sha256(secret: bytes, people: list[tuple[str, int]], again: list[int]) -> None:
    people = people + [people[i] for i in again if i < len(people)]
    text = pa.array([canonical(person) for person, _ in people], pa.large_string())
    period = np.array([each for _, each in people], np.int64)
    pseudonyms = Pseudonyms(secret)
    for _ in range(2):
        found = pseudonyms.of(keys_of(text, (), KEY).keys, period, np.arange(len(period)), text).to_pylist()
        assert found == [expected(secret, each, person) for person, each in people]


def test_more_users_than_are_remembered() -> None:
    users = np.random.default_rng(1).integers(0, 100_000, 60_000)
    keys = keys_of(pa.array(users), (), KEY).keys
    pseudonyms = Pseudonyms(b"0123456789abcdef")
    for period in (1, 2, 1):
        found = pseudonyms.of(keys, np.full(len(users), period), np.arange(len(users)), None).to_pylist()
        some = range(0, len(users), 997)
        assert [found[i] for i in some] == [expected(b"0123456789abcdef", period, str(users[i])) for i in some]
        assert len(set(found)) == len(np.unique(users))


def test_names_of_every_length() -> None:
    """The message is the period and the name; some lengths fill a block of SHA-256, others need one more."""
    people = ["n" * length for length in range(130)]
    text, period = pa.array(people, pa.large_string()), np.full(len(people), 7)
    found = Pseudonyms(b"0123456789abcdef").of(keys_of(text, (), KEY).keys, period, np.arange(len(people)), text)
    assert found.to_pylist() == [expected(b"0123456789abcdef", 7, person) for person in people]


@pytest.mark.parametrize("step", [1, -1])
def test_periods_that_the_look_up_cannot_tell_apart(step: int) -> None:
    """The second period is chosen so that the hash of user and period has the same upper half."""
    keys = keys_of(pa.array([7, 7]), (), KEY).keys
    word = int(keys[0, 0] ^ keys[0, 1])
    other = (word ^ 5) + step * pow(0x9E3779B97F4A7C15, -1, 1 << 64)
    period = np.array([5, other % (1 << 64) ^ word], np.uint64).astype(np.int64)
    found = Pseudonyms(b"0123456789abcdef").of(keys, period, np.arange(2), None).to_pylist()
    assert found == [expected(b"0123456789abcdef", int(each), "7") for each in period]


@given(
    time=st.lists(st.floats(-9e12, 9e12) | st.integers(-(10**10), 10**10).map(float), max_size=20),
    window=st.sampled_from([0.001, 0.1, 0.3, 1.0, 7.0, 3600.0, 86400.0, 1e9]),
)
def test_periods_are_exact(time: list[float], window: float) -> None:
    assert periods(np.array(time), window).tolist() == [floor(Fraction(t) / Fraction(window)) for t in time]


def test_under_a_window_of_0_every_time_is_a_period() -> None:
    found = periods(np.array([0.0, -0.0, 1.0, 1.0, 1.5]), 0.0).tolist()
    assert found[0] == found[1] and found[2] == found[3] and len(set(found)) == 3


def test_they_last_for_a_window_and_no_longer() -> None:
    anonymizer = Anonymizer(policy(1, 10))
    found = [anonymizer.push({"t": t, "user": "ann", "site": "a"})[0]["user"] for t in (0, 9.9, 10, 19, 20)]
    assert found[0] == found[1] != found[2] == found[3] != found[4] != found[0]
    assert found[0] == expected(SECRET.encode(), 0, "ann")
    assert all(len(each) == 32 and "ann" not in each for each in found)


def test_another_secret_makes_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    record = {"t": 0, "user": "ann", "site": "a"}
    one = Anonymizer(policy(1, 10)).push(record)[0]["user"]
    monkeypatch.setenv("SHOAL_SECRET", SECRET + "!")
    assert Anonymizer(policy(1, 10)).push(record)[0]["user"] != one


def test_a_file_that_the_policy_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SHOAL_SECRET")
    (tmp_path / "secret.txt").write_text("another secret of length\n")
    written = {
        "person": "user", "time": {"field": "t"}, "item": {"field": "site"},
        "algorithm": {"name": "zanon", "z": 1, "window": 10, "secret_file": "secret.txt"},
    }  # fmt: skip
    found = Anonymizer(Policy.parse(written, tmp_path)).push({"t": 0, "user": 7, "site": "a"})[0]["user"]
    assert found == expected(b"another secret of length", 0, "7")
    (tmp_path / "secret.txt").write_text("too short\n")
    assert refused(Policy.parse(written, tmp_path)) == (
        "algorithm.secret_file: is shorter than 16 bytes; choose a longer random secret"
    )
    (tmp_path / "secret.txt").unlink()
    assert refused(Policy.parse(written, tmp_path)) == (
        "algorithm.secret_file: does not exist in the policy's folder; add it or correct the name"
    )


def refused(rule: Policy) -> str:
    with pytest.raises(PolicyError) as caught:
        Anonymizer(rule)
    return str(caught.value)


def test_no_secret_no_pseudonyms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOAL_SECRET", "fifteen bytes..")
    assert refused(policy()) == "SHOAL_SECRET: is shorter than 16 bytes; choose a longer random secret"
    monkeypatch.delenv("SHOAL_SECRET")
    assert refused(policy()) == (
        "SHOAL_SECRET: is not set, and algorithm.secret_file names no file; pseudonyms need a secret of at least 16 bytes"
    )


def test_the_secret_is_in_no_snapshot() -> None:
    anonymizer = Anonymizer(policy(1, 10))
    anonymizer.push({"t": 0, "user": "ann", "site": "a"})
    assert SECRET.encode() not in anonymizer.snapshot()
    assert SECRET not in repr(anonymizer.stats) + repr(anonymizer.policy)
