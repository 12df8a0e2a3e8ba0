"""A generated stream of wearables, in batches or in real time: persons return, and their devices are on or off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

PERSONS = 4000
RATE = 200  # tuples per second
START = np.datetime64("2025-03-01T08:00:00", "ms")
SLOT = 120  # seconds for which a person's activity and devices stay the same
BATCH = 65_536
EVERY = 0.1  # seconds from one live step to the next
ENDLESS = 2**60

ACTIVITIES = {
    "resting": ("sleeping", "lying", "sitting"),
    "moving": ("standing", "walking", "climbing"),
    "sport": ("running", "cycling", "swimming"),
}
DISTRICTS = {
    "North": ("Hillside", "Quarry", "Airfield"),
    "East": ("Orchard", "Brewery", "Canal"),
    "South": ("Station", "Stadium", "Meadow"),
    "West": ("Harbour", "Market", "Lagoon"),
}
ILLNESSES = ("none", "asthma", "migraine", "epilepsy", "diabetes", "angina")

_ACTIVITY = [leaf for leaves in ACTIVITIES.values() for leaf in leaves]
_DISTRICT = [leaf for leaves in DISTRICTS.values() for leaf in leaves]
_OFTEN = np.cumsum([0.10, 0.08, 0.34, 0.14, 0.18, 0.04, 0.05, 0.05, 0.02])
_PULSE = np.array([-12, -6, 0, 8, 22, 40, 75, 60, 55])
_STEPS = np.array([0, 0, 60, 250, 3600, 2200, 8200, 300, 0])
_SKIN = np.array([1.4, 1.0, 0.4, 0.0, -0.3, -0.2, -1.0, -1.2, -3.0])
_ON = {"watch": 0.75, "ring": 0.45, "phone": 0.7}


def wearables(tuples: int, seed: int = 0) -> Iterator[pa.RecordBatch]:
    """A stream in order of time, in batches; the same seed gives the same stream.

    >>> batch = next(wearables(3))
    >>> batch.num_rows, batch.schema.names
    (3, ['pid', 'ts', 'age', 'pulse', 'steps', 'skin', 'activity', 'district', 'illness'])
    """
    random = np.random.default_rng(seed)
    people = _People(random)
    now = 0.0
    for first in range(0, tuples, BATCH):
        count = min(BATCH, tuples - first)
        seconds = now + np.cumsum(random.exponential(1 / RATE, count))
        now = float(seconds[-1])
        yield people.tuples(random, seconds)


class Step(NamedTuple):
    """The tuples since the last step, possibly none, and the stream's time."""

    batch: pa.RecordBatch
    now: float


def live(
    tuples: int = ENDLESS,
    seed: int = 0,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], object] = time.sleep,
) -> Iterator[Step]:
    """The stream in steps of real time; it ends with its last tuple.

    >>> from itertools import count
    >>> seconds = count()
    >>> [step.batch.num_rows for step in live(500, clock=lambda: next(seconds), sleep=lambda pause: None)]
    [205, 221, 74]
    """
    begun, start = clock(), int(START.astype(np.int64)) / 1000
    for batch in wearables(tuples, seed):
        due, done = _due(batch), 0
        while done < batch.num_rows:
            sleep(EVERY)
            now = start + clock() - begun
            upto = int(np.searchsorted(due, now))
            yield Step(batch.slice(done, upto - done), now)
            done = upto


def _due(batch: pa.RecordBatch) -> NDArray[np.float64]:
    """When each tuple arrives: the tuples of one second are spread evenly over it."""
    moments = pc.strptime(batch.column("ts"), "%Y-%m-%dT%H:%M:%SZ", "s").cast(pa.int64()).to_numpy()
    second, first, place, size = np.unique(moments, return_index=True, return_inverse=True, return_counts=True)
    return second[place] + (np.arange(len(moments)) - first[place]) / size[place]


class _People:
    """The persons, with what does not change about them."""

    def __init__(self, random: np.random.Generator) -> None:
        self._salt = random.integers(2**63, size=2, dtype=np.uint64)
        young = random.random(PERSONS) < 0.6
        self._age = np.clip(random.normal(np.where(young, 34, 58), np.where(young, 9, 12)), 18, 95).astype(np.int64)
        self._shares_age = random.random(PERSONS) < 0.85
        self._pulse = random.normal(66, 6, PERSONS)
        self._home = random.integers(len(_DISTRICT), size=PERSONS)
        risk = np.array([8, 1, 1, 0.3, 0.5, 0.2]) + np.outer(self._age / 60, [0, 0, 0, 0, 1.5, 0.8])
        threshold = random.random((PERSONS, 1)) * risk.sum(axis=1, keepdims=True)
        self._illness = (np.cumsum(risk, axis=1) < threshold).sum(axis=1)

    def tuples(self, random: np.random.Generator, seconds: Floats) -> pa.RecordBatch:
        """The tuples of random persons at these seconds."""
        count = len(seconds)
        who = random.integers(PERSONS, size=count)
        slot = (seconds // SLOT).astype(np.int64)
        watch, ring, phone = (self._draw(who, slot, n) < share for n, share in enumerate(_ON.values()))
        doing = np.searchsorted(_OFTEN[:-1], self._draw(who, slot, 3))
        pulse = np.clip(self._pulse[who] + _PULSE[doing] + random.normal(0, 4, count), 35, 210)
        steps = np.clip(_STEPS[doing] * random.uniform(0.7, 1.3, count), 0, 12_000)
        skin = np.clip(33.2 + _SKIN[doing] + random.normal(0, 0.4, count), 28, 38)
        away = (self._draw(who, slot, 4) < 0.3) * (self._draw(who, slot, 5) * len(_DISTRICT)).astype(np.int64)
        columns = {
            "pid": pa.array(_named(who)),
            "ts": pa.array(np.datetime_as_string(START + (seconds * 1000).astype(np.int64), "s", "UTC")),
            "age": _known(self._age[who], self._shares_age[who]),
            "pulse": _known(pulse.astype(np.int64), watch),
            "steps": _known(steps.astype(np.int64) // 10 * 10, watch),
            "skin": _known(np.round(skin, 1), ring),
            "activity": _labels(_ACTIVITY, doing, watch),
            "district": _labels(_DISTRICT, (self._home[who] + away) % len(_DISTRICT), phone),
            "illness": _labels(ILLNESSES, self._illness[who], np.ones(count, bool)),
        }
        return pa.RecordBatch.from_pydict(columns)

    def _draw(self, who: Integers, slot: Integers, number: int) -> Floats:
        """A fixed pseudo-random number in [0, 1) for each person and slot."""
        bits = (who.astype(np.uint64) << np.uint64(40)) ^ (slot.astype(np.uint64) << np.uint64(8)) ^ np.uint64(number)
        for salt in self._salt:
            bits = (bits ^ salt ^ (bits >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        return (bits >> np.uint64(11)) / 2.0**53


def _named(who: Integers) -> NDArray[np.str_]:
    return np.char.add("p", np.char.zfill(who.astype(str), 4))


def _known(values: NDArray[np.generic], known: NDArray[np.bool_]) -> pa.Array:
    return pa.array(values, mask=~known)


def _labels(labels: list[str] | tuple[str, ...], codes: Integers, known: NDArray[np.bool_]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32), mask=~known), pa.array(labels))
