from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import nats
import pyarrow as pa
import pytest
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, RetentionPolicy, StreamConfig

from connectors.conformance import (
    Feed,
    SinkConformance,
    SourceConformance,
    Store,
    absence,
    batch,
    deliveries,
    drained,
    numbers_of,
    pairs,
)
from connectors.processes import Broker, nats_server, running
from shoal.connectors.nats_sink import NatsSink
from shoal.connectors.nats_source import NatsSource
from shoal.errors import ConnectorError

UNACKED = ConsumerConfig(ack_policy=AckPolicy.NONE)
_names = map("S{}".format, itertools.count())


class Nats:
    """One stream of a server, as seen by the client alone."""

    def __init__(self, broker: Broker, **config: Any) -> None:
        self.broker = broker
        self.name = next(_names)
        self.url = f"nats://127.0.0.1:{broker.port}"
        self.do(lambda js: js.add_stream(StreamConfig(name=self.name, subjects=[self.name.lower()], **config)))

    def do(self, what: Any) -> Any:
        async def done() -> Any:
            client = await nats.connect(self.url)
            try:
                return await what(client.jetstream())
            finally:
                await client.close()

        return asyncio.run(done())

    def messages(self) -> list[Any]:
        async def fetched(js: Any) -> list[Any]:
            count = (await js.stream_info(self.name)).state.messages
            reader = await js.pull_subscribe(self.name.lower(), stream=self.name, config=UNACKED)
            found: list[Any] = []
            while len(found) < count:
                found += await reader.fetch(count - len(found), timeout=5)
            await reader.unsubscribe()
            return found

        return self.do(fetched)


class NatsFeed(Nats, Feed):
    def source(self) -> NatsSource:
        return NatsSource(NatsSource.Settings(url=self.url, stream=self.name))

    def give(self, numbers: range) -> None:
        async def publish(js: Any) -> None:
            for number in numbers:
                await js.publish(self.name.lower(), json.dumps({"n": number}).encode())

        self.do(publish)


class NatsStore(Nats, Store):
    form = "json"

    def sink(self) -> NatsSink:
        return NatsSink(NatsSink.Settings(url=self.url, stream=self.name, subject=self.name.lower(), format=self.form))

    def held(self) -> list[tuple[int, int]]:
        return [(int(message.headers["Shoal-Sequence"]), json.loads(message.data)["n"]) for message in self.messages()]


class ArrowStore(NatsStore):
    form = "arrow"

    def held(self) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        for message in self.messages():
            values = pa.ipc.open_stream(message.data).read_all()["n"].to_pylist()
            found += enumerate(values, int(message.headers["Shoal-Sequence"]))
        return found


class TestSource(SourceConformance):
    @pytest.fixture
    def feed(self, nats_broker: Broker) -> NatsFeed:
        return NatsFeed(nats_broker)

    def test_the_server_is_told_all_that_is_safe(self, feed: NatsFeed) -> None:
        source = feed.source()
        source.begin(None)
        feed.give(range(20))
        _, position = drained(source, 20)
        source.acknowledge(position)

        def pending() -> int:
            return feed.do(lambda js: js.consumer_info(feed.name, "shoal")).num_ack_pending

        until = time.monotonic() + 10
        while pending() and time.monotonic() < until:
            time.sleep(0.05)
        assert pending() == 0
        source.close()

    def test_acknowledges_all_up_to_a_position(self, feed: NatsFeed) -> None:
        source = feed.source()
        source.begin(None)
        feed.give(range(10))
        _, position = drained(source, 10)
        feed.give(range(10, 15))
        drained(source, 5)
        source.acknowledge(position)
        source.close()
        info = feed.do(lambda js: js.consumer_info(feed.name, "shoal"))
        assert (info.ack_floor.stream_seq, info.num_ack_pending) == (10, 5)

    def test_a_server_that_is_killed_while_it_delivers_loses_nothing(self, feed: NatsFeed) -> None:
        feed.give(range(3_000))
        source = feed.source()
        source.begin(None)
        first = source.read(5)
        assert first is not None
        feed.broker.stop(kill=True)
        feed.broker.start()
        found = numbers_of(first.payloads)
        if len(found) < 3_000:
            found += drained(source, 3_000 - len(found))[0]
        feed.give(range(3_000, 3_010))
        found += drained(source, 10)[0]
        source.close()
        assert found == list(range(3_010))

    @pytest.mark.parametrize("lost", [4, 9])
    def test_a_message_that_gets_lost_on_the_way_comes_again(
        self, feed: NatsFeed, monkeypatch: pytest.MonkeyPatch, lost: int
    ) -> None:
        seen: list[str] = []
        real = NatsSource._on_message

        async def losing(source: NatsSource, inbox: str, message: Any) -> None:
            seen.append(inbox)
            if len(seen) != lost + 1:
                await real(source, inbox, message)

        monkeypatch.setattr(NatsSource, "_on_message", losing)
        feed.give(range(10))
        source = feed.source()
        source.begin(None)
        found, _ = drained(source, min(lost, 9))
        if lost == 9:  # nothing comes behind it
            feed.broker.stop()
            feed.broker.start()
        found += drained(source, 10 - len(found))[0] if len(found) < 10 else []
        source.close()
        assert found == list(range(10))

    def test_a_consumer_that_somebody_deletes_is_made_again(self, feed: NatsFeed) -> None:
        source = feed.source()
        source.begin(None)
        feed.give(range(5))
        found, _ = drained(source, 5)
        feed.do(lambda js: js.delete_consumer(feed.name, "shoal"))
        feed.give(range(5, 10))
        found += drained(source, 5)[0]
        source.close()
        assert found == list(range(10))

    def test_a_stream_that_somebody_deletes(self, feed: NatsFeed) -> None:
        source = feed.source()
        source.begin(None)
        feed.do(lambda js: js.delete_stream(feed.name))
        with pytest.raises(ConnectorError) as error:
            while source.read(5) is None:
                pass
        source.close()
        assert str(error.value) == f"nats: stream '{feed.name}' is gone; create it again"

    def test_more_bytes_than_are_asked_for_at_a_time(self, feed: NatsFeed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.nats_source.BYTES", 100)
        large = b" " * 900_000
        feed.do(lambda js: asyncio.gather(*(js.publish(feed.name.lower(), b'{"n": %d}' % n + large) for n in range(5))))
        source = feed.source()
        source.begin(None)
        found, _ = drained(source, 5)
        source.close()
        assert sorted(found) == list(range(5))

    def test_holds_a_bounded_number_of_messages(self, feed: NatsFeed, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.nats_source.ROOM", 64)
        monkeypatch.setattr("shoal.connectors.nats_source.PULL", 32)
        feed.give(range(300))
        source = feed.source()
        source.begin(None)
        time.sleep(0.3)
        sizes = [len(delivery.payloads) for delivery in deliveries(source, 300)]
        source.close()
        assert sum(sizes) == 300
        assert max(sizes) <= 64

    def test_tells_what_waits(self, feed: NatsFeed) -> None:
        source = feed.source()
        source.begin(None)
        assert source.lag is None
        feed.give(range(5))
        drained(source, 5)
        assert source.lag == 0
        source.close()

    def test_what_is_not_there_any_more_is_not_replayed(self, feed: NatsFeed) -> None:
        source = feed.source()
        beginning = source.begin(None)
        feed.give(range(10))
        _, position = drained(source, 10)
        source.close()
        feed.do(lambda js: js.delete_msg(feed.name, 4))
        again = feed.source()
        again.begin(beginning)
        with pytest.raises(ConnectorError) as error:
            again.replay(position)
        again.close()
        assert str(error.value) == (
            f"nats: stream '{feed.name}' does not have all messages up to 10 any more; "
            "it must keep what no checkpoint covers yet"
        )

    def test_a_stream_that_was_purged_is_not_replayed(self, feed: NatsFeed) -> None:
        source = feed.source()
        beginning = source.begin(None)
        feed.give(range(10))
        _, position = drained(source, 10)
        source.close()
        feed.do(lambda js: js.purge_stream(feed.name))
        again = feed.source()
        again.begin(beginning)
        with pytest.raises(ConnectorError, match="does not have all messages"):
            again.replay(position)
        again.close()

    def test_an_unknown_stream(self, feed: NatsFeed) -> None:
        source = NatsSource(NatsSource.Settings(url=feed.url, stream="NONE"))
        with pytest.raises(ConnectorError) as error:
            source.begin(None)
        source.close()
        assert str(error.value) == "nats: there is no stream 'NONE'; create it, or correct the name"

    def test_a_stream_that_forgets_what_was_read(self, nats_broker: Broker) -> None:
        feed = NatsFeed(nats_broker, retention=RetentionPolicy.WORK_QUEUE)
        source = feed.source()
        with pytest.raises(ConnectorError, match="use a stream with retention limits"):
            source.begin(None)
        source.close()

    def test_a_server_that_is_not_there(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("shoal.connectors.nats_link.PATIENCE", 1.0)
        source = NatsSource(NatsSource.Settings(url="nats://127.0.0.1:9", stream="S"))
        with pytest.raises(ConnectorError) as error:
            source.begin(None)
        source.close()
        assert str(error.value) == (
            "nats nats://127.0.0.1:9: cannot be reached within 1 s (ConnectionRefusedError); "
            "check address, TLS, and that it runs"
        )


class TestCredentials:
    @pytest.fixture
    def guarded(self, nats_program: str, tmp_path: Any) -> Iterator[Broker]:
        with running(nats_server(nats_program, tmp_path, "--user", "shoal", "--pass", "correct")) as broker:
            yield broker

    @pytest.mark.parametrize("secret", ["wrong", "correct"])
    def test_are_taken_from_the_environment(self, guarded: Broker, monkeypatch: pytest.MonkeyPatch, secret: str) -> None:
        monkeypatch.setenv("NATS_PASSWORD", secret)
        url = f"nats://127.0.0.1:{guarded.port}"
        options = {"user": "shoal", "password": {"env": "NATS_PASSWORD"}}
        source = NatsSource(NatsSource.Settings(url=url, stream="NONE", options=options))
        with pytest.raises(ConnectorError) as error:
            source.begin(None)
        source.close()
        refused = f"nats {url}: refuses the credentials; correct user, password, token or certificate"
        absent = "nats: there is no stream 'NONE'; create it, or correct the name"
        assert str(error.value) == (refused if secret == "wrong" else absent)


class TestSink(SinkConformance):
    @pytest.fixture
    def store(self, nats_broker: Broker) -> NatsStore:
        return NatsStore(nats_broker)

    def test_a_write_waits_for_the_server(self, store: NatsStore) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        writer = threading.Thread(target=sink.write, args=(batch(range(2_500)), 0))
        with absence(store.broker):
            writer.start()
            time.sleep(0.5)
            assert writer.is_alive()
        writer.join(20)
        sink.close()
        assert store.held() == pairs(range(2_500))

    def test_a_server_that_is_killed_while_it_is_written_to_has_everything_once(self, store: NatsStore) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        writer = threading.Thread(target=lambda: [sink.write(batch(range(i, i + 500)), i) for i in range(0, 10_000, 500)])
        writer.start()
        while writer.is_alive():
            time.sleep(0.15)
            store.broker.stop(kill=True)
            store.broker.start()
            writer.join(0.5)
        sink.close()
        assert store.held() == pairs(range(10_000))

    def test_a_message_that_gets_lost_on_the_way_leaves_no_gap(self, store: NatsStore) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        assert sink._link
        client, sent = sink._link.client, []
        real = client.publish

        async def losing(subject: str, payload: bytes, **how: Any) -> None:
            sent.append(subject)
            if len(sent) != 5:
                await real(subject, payload, **how)

        client.publish = losing
        sink.write(batch(range(10)), 0)
        sink.close()
        assert store.held() == pairs(range(10))

    def test_a_full_stream_is_waited_for(self, nats_broker: Broker) -> None:
        store = NatsStore(nats_broker, max_msgs=10, discard=DiscardPolicy.NEW)
        sink = store.sink()
        sink.begin(None, 0)
        writer = threading.Thread(target=sink.write, args=(batch(range(15)), 0))
        writer.start()
        time.sleep(0.5)
        assert writer.is_alive()
        store.do(lambda js: js.purge_stream(store.name, keep=1))
        writer.join(20)
        sink.close()
        assert store.held() == pairs(range(9, 15))

    def test_what_was_purged_is_still_known(self, store: NatsStore) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        sink.write(batch(range(5)), 0)
        mark = sink.mark
        sink.close()
        store.do(lambda js: js.purge_stream(store.name))
        again = store.sink()
        again.begin(mark, 5)
        again.caught_up(5)
        again.write(batch(range(5, 8)), 5)
        again.close()
        assert store.held() == pairs(range(5, 8))

    def test_a_stream_that_somebody_else_writes_to(self, store: NatsStore) -> None:
        sink = store.sink()
        sink.begin(None, 0)
        sink.write(batch(range(5)), 0)
        mark = sink.mark
        sink.close()
        store.do(lambda js: js.publish(store.name.lower(), b"{}"))
        again = store.sink()
        with pytest.raises(ConnectorError, match="somebody else writes to it"):
            again.begin(mark, 5)
        again.close()

    def test_a_stream_of_several_subjects(self, store: NatsStore) -> None:
        store.do(lambda js: js.update_stream(name=store.name, subjects=[store.name.lower(), "other"]))
        sink = store.sink()
        with pytest.raises(ConnectorError) as error:
            sink.begin(None, 0)
        sink.close()
        store.do(lambda js: js.delete_stream(store.name))
        assert str(error.value) == (
            f"nats: stream '{store.name}' does not hold the subject '{store.name.lower()}' alone; "
            "give the pipeline's output a stream of its own"
        )


class TestArrowSink(SinkConformance):
    @pytest.fixture
    def store(self, nats_broker: Broker) -> ArrowStore:
        return ArrowStore(nats_broker)
