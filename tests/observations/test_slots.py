"""Words are found again wherever lines overflow, also after others were taken out."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.blocks.slots import FREE, first_line, put, slot_of, slots, take_out, word
from shoal.compiled import WORDS, kernel


@kernel
def _put(table, new):
    put(table, new)


@kernel
def _take_out(table, old):
    take_out(table, old)


@kernel
def _slot_of(table, old):
    return slot_of(table, old)


@kernel
def _word(hash, number):
    return word(np.uint32(hash), number)


@kernel
def _first_line(table, hash):
    return first_line(table, hash)


@pytest.mark.parametrize("spread", [1, 3, 1 << 20])
def test_they_are_found_until_they_are_taken_out(spread: int) -> None:
    """Few different hashes fill line after line; the last of them spill over the end."""
    rng, table, held = np.random.default_rng(spread), slots(24), []
    for step in range(3000):
        if len(held) < 40 and (rng.random() < 0.6 or not held):
            held.append(_word((1 << 31) | (int(rng.integers(spread)) * 8 + 56), step))
            _put(table, held[-1])
        else:
            _take_out(table, held.pop(int(rng.integers(len(held)))))
        assert sorted(table[table != FREE].tolist()) == sorted(held)
        for each in held:
            at = int(_slot_of(table, each))
            assert table[at] == each
            line = int(_first_line(table, each >> 32))
            while line != at - at % WORDS:  # no line before it has a gap
                assert (table[line : line + WORDS] != FREE).all()
                line = (line + WORDS) % len(table)


def test_a_line_is_a_line_of_memory() -> None:
    assert slots(100_000).ctypes.data % 64 == 0
