"""Fingerprints of persons: SipHash, whatever the length of the text and wherever it stands in memory."""

from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pytest

from shoal.columns.fingerprint import fingerprints
from shoal.columns.pseudonym import Pseudonyms, pseudonym
from tests.columns.siphash import siphash

PUBLISHED = {  # by length: of the bytes 00, 01, 02 … under the key 00 … 0f; from the reference implementation
    0: "a3817f04ba25a8e66df67214c7550293",
    1: "da87c1d86b99af44347659119b22fc45",
    2: "8177228da4a45dc7fca38bdef60affe4",
    3: "9c70b60c5267a94e5f33b6b02985ed51",
    63: "5150d1772f50834a503e069a973fbd7c",
}
KEY = bytes(range(16))
OTHER = bytes.fromhex("fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0")


def computed(texts: pa.Array, key: bytes = KEY) -> list[bytes]:
    return [row.tobytes() for row in fingerprints(texts, np.frombuffer(key, np.uint64))]


@pytest.mark.parametrize("length", PUBLISHED)
def test_published_vectors(length: int) -> None:
    data = bytes(range(length))
    assert siphash(KEY, data).hex() == PUBLISHED[length]
    assert computed(pa.array([data.decode()], pa.large_string())) == [bytes.fromhex(PUBLISHED[length])]


@pytest.mark.parametrize("key", [KEY, OTHER, bytes(16)])
def test_texts_of_every_length(key: bytes) -> None:
    draw = random.Random(1)
    texts = ["".join(draw.choices("aé\u4e2d\U0001f41f z0\x00", k=n)) for n in range(41) for _ in range(3)]
    texts += ["x" * n for n in (255, 256, 257, 1000)]
    assert computed(pa.array(texts, pa.large_string()), key) == [siphash(key, text.encode()) for text in texts]


def test_slices_and_nulls() -> None:
    texts = [None, "", "a", "é", None, "bc" * 10, "", None, "last"]
    array = pa.array(texts, pa.large_string())
    for start in range(len(texts) + 1):
        for length in range(len(texts) - start + 1):
            found = computed(array.slice(start, length))
            assert len(found) == length
            for text, fingerprint in zip(texts[start : start + length], found, strict=True):
                assert text is None or fingerprint == siphash(KEY, text.encode())


def test_nothing_but_empty_texts() -> None:
    assert computed(pa.array(["", ""], pa.large_string())) == [siphash(KEY, b"")] * 2
    assert computed(pa.array([], pa.large_string())) == []


SECRET = b"sixteen bytes, or more"


@pytest.mark.parametrize("users", [20, 10_000, 10**9, 2**62])
def test_of_whole_numbers(users: int) -> None:
    """Of few users most come again soon; of many hardly any, so that after some time nobody is looked up."""
    size, rng = 20_000, np.random.default_rng(1)
    keys = np.zeros((size, 2), np.uint64)
    keys[:, 0] = rng.integers(0, users, size, np.uint64)
    keys[-100:] = keys[:100]
    period = rng.integers(0, 2, size)
    rows = np.flatnonzero(rng.random(size) < 0.9)
    found = Pseudonyms(SECRET).of(keys, period, rows, None)
    for i in [*range(0, len(rows), 37), *range(len(rows) - 150, len(rows))]:
        name = str(keys[rows[i], 0]).encode()
        assert found[i].as_py().encode() == pseudonym(SECRET, int(period[rows[i]]), name)
