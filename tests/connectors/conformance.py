"""What every source and every sink promises, whatever is behind it."""

from __future__ import annotations

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest

from connectors.processes import Broker
from shoal.connectors import Delivery, Position, Sink, Source
from shoal.errors import ConnectorError

PATIENCE = 90.0
"""Seconds in which what must come has come."""


class Feed(ABC):
    """What a source reads from, in a test."""

    broker: Broker | None = None
    """What can be stopped and started."""

    @abstractmethod
    def source(self) -> Source:
        """One more reader in the place of the one before."""

    @abstractmethod
    def give(self, numbers: range) -> None:
        """Records {"n": number}, one message each; it returns when they are there."""


class Store(ABC):
    """What a sink writes to, in a test."""

    broker: Broker | None = None

    @abstractmethod
    def sink(self) -> Sink:
        """One more writer in the place of the one before."""

    @abstractmethod
    def held(self) -> list[tuple[int, int]]:
        """The pairs of number and value that are there, in their order."""


@contextmanager
def absence(broker: Broker | None) -> Iterator[None]:
    """While its broker is away."""
    if broker is None:
        pytest.skip("its broker cannot be stopped")
    broker.stop()
    try:
        yield
    finally:
        broker.start()


def linked(end: Source | Sink, wanted: bool, step: Callable[[], object]) -> bool:
    """Whether an end that tells of its connection comes to tell so, while steps are made."""
    if type(end).connected in (Source.connected, Sink.connected):
        return end.connected is None
    until = time.monotonic() + PATIENCE
    while end.connected is not wanted and time.monotonic() < until:
        step()
        time.sleep(0.02)
    return end.connected is wanted


def numbers_of(payloads: Any) -> list[int]:
    return [json.loads(line)["n"] for payload in payloads for line in bytes(payload).splitlines()]


def deliveries(source: Source, count: int, seconds: float = PATIENCE) -> Iterator[Delivery]:
    """What comes until so many records came; those of a source that cannot replay are acknowledged at once."""
    found, until = 0, time.monotonic() + seconds
    while found < count:
        assert time.monotonic() < until, f"{found} of {count} records came"
        delivery = source.read(0.2)
        if delivery is not None:
            found += len(numbers_of(delivery.payloads))
            yield delivery
            if not source.replays:
                source.acknowledge(delivery.position)


def drained(source: Source, count: int) -> tuple[list[int], Position]:
    some = list(deliveries(source, count))
    return [number for delivery in some for number in numbers_of(delivery.payloads)], some[-1].position


def batch(numbers: range) -> pa.RecordBatch:
    return pa.record_batch({"n": pa.array(numbers, pa.int64())})


def pairs(numbers: range) -> list[tuple[int, int]]:
    return [(number, number) for number in numbers]


class SourceConformance:
    """A test class of a source inherits this, and has a fixture `feed`."""

    ordered = True
    """Whether all records come in the order in which they were given; else those of a delivery are in a fixed order."""

    knows_its_reader = True
    """Whether it goes on by itself where it was acknowledged."""

    def test_reads_in_order(self, feed: Feed) -> None:
        feed.give(range(50))
        source = feed.source()
        source.begin(None)
        found, _ = drained(source, 50)
        feed.give(range(50, 80))
        more, _ = drained(source, 30)
        source.close()
        assert (found + more if self.ordered else sorted(found + more)) == list(range(80))

    def test_silence_is_nothing(self, feed: Feed) -> None:
        source = feed.source()
        source.begin(None)
        assert source.read(0.1) is None
        source.close()

    def test_closes_before_it_begins(self, feed: Feed) -> None:
        feed.source().close()

    def test_a_probe_takes_nothing_away(self, feed: Feed) -> None:
        source = feed.source()
        source.begin(None)
        feed.source().probe(None)
        feed.give(range(20))
        found, position = drained(source, 20)
        feed.source().probe(json.loads(json.dumps(position)))
        feed.give(range(20, 30))
        more, _ = drained(source, 10)
        source.close()
        assert sorted(found + more) == list(range(30))

    def test_a_position_survives_a_restart(self, feed: Feed) -> None:
        source = feed.source()
        source.begin(None)
        feed.give(range(20))
        found, position = drained(source, 20)
        source.acknowledge(position)
        source.close()
        feed.give(range(20, 40))
        source = feed.source()
        source.begin(json.loads(json.dumps(position)))
        more, _ = drained(source, 20)
        source.close()
        assert sorted(found + more) == list(range(40))

    def test_what_is_acknowledged_does_not_come_again(self, feed: Feed) -> None:
        if not self.knows_its_reader:
            pytest.skip("the state alone knows where it stands")
        source = feed.source()
        source.begin(None)
        feed.give(range(20))
        _, position = drained(source, 20)
        source.acknowledge(position)
        feed.give(range(20, 30))
        if source.replays:
            drained(source, 10)
        source.close()
        source = feed.source()
        source.begin(None)
        found, _ = drained(source, 10)
        source.close()
        assert sorted(found) == list(range(20, 30))

    def test_replay_gives_the_same_again(self, feed: Feed) -> None:
        if not feed.source().replays:
            pytest.skip("the journal keeps what it gave")
        source = feed.source()
        beginning = source.begin(None)
        some: list[Delivery] = []
        for first in range(0, 60, 20):
            feed.give(range(first, first + 20))
            some += deliveries(source, 20)
        source.close()
        feed.give(range(60, 70))
        again = feed.source()
        again.begin(json.loads(json.dumps(beginning)))
        for delivery in some:
            assert list(again.replay(json.loads(json.dumps(delivery.position)))) == list(delivery.payloads)
        assert sorted(drained(again, 10)[0]) == list(range(60, 70))
        again.acknowledge(some[-1].position)
        again.close()

    def test_replay_goes_on_behind_any_position(self, feed: Feed) -> None:
        if not feed.source().replays:
            pytest.skip("the journal keeps what it gave")
        source = feed.source()
        source.begin(None)
        some: list[Delivery] = []
        for first in (0, 10):
            feed.give(range(first, first + 10))
            some += deliveries(source, 10)
        source.close()
        again = feed.source()
        again.begin(some[0].position)
        for delivery in some[1:]:
            assert list(again.replay(delivery.position)) == list(delivery.payloads)
        again.close()

    def test_the_broker_goes_away_and_comes_back(self, feed: Feed) -> None:
        source = feed.source()
        source.begin(None)
        feed.give(range(20))
        found, position = drained(source, 20)
        source.acknowledge(position)
        time.sleep(0.3)  # an acknowledgement that does not arrive may let a message come again
        assert linked(source, True, lambda: source.read(0.1))
        with absence(feed.broker):
            assert source.read(0.3) is None
            assert linked(source, False, lambda: source.read(0.1))
        feed.give(range(20, 40))
        more, _ = drained(source, 20)
        assert linked(source, True, lambda: source.read(0.1))
        source.close()
        assert sorted(found + more) == list(range(40))


class SinkConformance:
    """A test class of a sink inherits this, and has a fixture `store`."""

    def _remembering(self, store: Store) -> Sink:
        sink = store.sink()
        if not sink.remembers:
            pytest.skip("it does not know what it has")
        return sink

    def _written_by_another(self, store: Store) -> None:
        sink = self._remembering(store)
        sink.begin(None, 0)
        sink.write(batch(range(5)), 0)
        sink.close()

    def test_writes_in_order(self, store: Store) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        sink.caught_up(0)
        for first in range(0, 30, 10):
            sink.write(batch(range(first, first + 10)), first)
        sink.write(batch(range(0)), 30)
        sink.make_durable()
        sink.close()
        assert store.held() == pairs(range(30))

    def test_what_comes_again_is_passed_over(self, store: Store) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        sink.caught_up(0)
        sink.write(batch(range(10)), 0)
        mark = json.loads(json.dumps(sink.mark))
        sink.write(batch(range(10, 25)), 10)
        sink.close()
        again = store.sink()
        again.begin(mark, 10)
        again.write(batch(range(10, 18)), 10)
        again.write(batch(range(18, 30)), 18)
        again.caught_up(30)
        again.write(batch(range(30, 35)), 30)
        again.close()
        expected = pairs(range(35)) if again.remembers else pairs(range(25)) + pairs(range(10, 35))
        assert store.held() == expected

    def test_numbers_go_on_in_a_new_sink(self, store: Store) -> None:
        sink = store.sink()
        sink.begin(None, 40)
        sink.caught_up(40)
        mark = json.loads(json.dumps(sink.mark))
        sink.write(batch(range(40, 45)), 40)
        sink.close()
        again = store.sink()
        again.begin(mark, 40)
        if again.remembers:
            again.write(batch(range(40, 45)), 40)
        again.caught_up(45)
        again.close()
        assert [value for _, value in store.held()] == list(range(40, 45))

    def test_closes_before_it_begins(self, store: Store) -> None:
        store.sink().close()

    def test_a_probe_changes_nothing(self, store: Store) -> None:
        store.sink().probe(None, 0)
        sink = store.sink()
        sink.begin(None, 0)
        sink.caught_up(0)
        sink.write(batch(range(10)), 0)
        store.sink().probe(sink.mark, 10)
        sink.write(batch(range(10, 20)), 10)
        sink.close()
        assert store.held() == pairs(range(20))

    def test_a_probe_finds_what_is_not_ours(self, store: Store) -> None:
        self._written_by_another(store)
        with pytest.raises(ConnectorError):
            store.sink().probe(None, 0)

    def test_a_state_that_is_too_old_is_refused(self, store: Store) -> None:
        sink = self._remembering(store)
        sink.begin(None, 0)
        sink.caught_up(0)
        sink.write(batch(range(5)), 0)
        mark = sink.mark
        sink.write(batch(range(5, 10)), 5)
        sink.close()
        old = store.sink()
        old.begin(mark, 5)
        old.write(batch(range(5, 8)), 5)
        with pytest.raises(ConnectorError):
            old.caught_up(8)
        old.close()
        assert store.held() == pairs(range(10))

    def test_a_beginning_on_what_is_not_ours_is_refused(self, store: Store) -> None:
        self._written_by_another(store)
        other = store.sink()
        with pytest.raises(ConnectorError):
            other.begin(None, 0)
        other.close()

    def test_the_broker_goes_away_and_comes_back(self, store: Store) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        sink.caught_up(0)
        sink.write(batch(range(10)), 0)
        assert linked(sink, True, sink.store_waiting)
        with absence(store.broker):
            assert linked(sink, False, sink.store_waiting)
        sink.write(batch(range(10, 20)), 10)
        assert linked(sink, True, sink.store_waiting)
        sink.close()
        held = store.held()
        assert (held if sink.remembers else sorted(set(held))) == pairs(range(20))
