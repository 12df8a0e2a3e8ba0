"""The pipeline: a policy between a source and a sink, for months, with nothing lost and nothing twice.

The input of the anonymizer is deliveries and ticks, in order; nothing else decides what it does. Its input is in the journal
before anything that depends on it becomes visible. From time to time a checkpoint saves the whole state, and a new journal
begins. After a crash the journal is replayed from the newest checkpoint on: the same tuples leave in the same groups under the
same numbers, and the sink skips those that it already has.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from shoal.anonymizer import Anonymizer, FilterStats, Rejection, Stats
from shoal.connectors import SINKS, SOURCES, FileSink, Payload, Position, Sink, Source, connector_class
from shoal.errors import InputError, PolicyError, ShoalError, StateError
from shoal.formats import Block, Parser, parser
from shoal.pipeline.compatibility import compatible_facts, file_digests, part_digests
from shoal.pipeline.dead_letters import DeadLetterFile
from shoal.pipeline.encryption import FileCipher
from shoal.pipeline.pipeline_file import PipelineFile, refuse_same
from shoal.pipeline.store import KEPT, Checkpoint, Entry, Journal, SavedState, Store
from shoal.pipeline.stream_time import Lateness, StreamClock
from shoal.policy import Policy

TICK = 0.01  # seconds from one tick to the next, while tuples wait for the clock
PATIENCE = 0.1  # seconds to wait for a source; a request to stop waits no longer either

log = logging.getLogger("shoal.pipe")


class Watcher(Protocol):
    """Receives the figures of a pipeline, from the pipeline's thread."""

    def started(self, stats: Stats | FilterStats) -> None:
        """The pipeline is ready, and resumes from these statistics."""

    def after(self, anonymizer: Anonymizer, answer: pa.RecordBatch) -> None:
        """The anonymizer took an input, and released `answer`."""

    def checkpointed(self, seconds: float, size: int) -> None:
        """A checkpoint was written: its duration and its size in bytes."""

    def lag(self, waiting: int | None) -> None:
        """How much waits in the source; None where that is unknown."""

    def stopped(self, reason: str) -> None:
        """The pipeline has ended. The reason holds no data."""


class Pipe:
    """One pipeline, which resumes where it stopped. The watcher receives figures; the clocks are for tests."""

    def __init__(
        self,
        file: PipelineFile,
        *,
        watcher: Watcher | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        today: Callable[[], float] = time.time,
    ) -> None:
        self.file = file
        refuse_same(file)
        self.policy = Policy.load(file.policy)
        if not self.policy.repeatable:
            raise PolicyError([
                f"{file.policy}: algorithm.workers: what several workers do cannot be repeated after a crash; use 1, and lanes "
                "for several cores"
            ])  # fmt: skip
        self.watcher = watcher
        self._monotonic, self._today = monotonic, today
        self._clock = StreamClock(monotonic)
        self._lateness = Lateness(self.policy, file.late)
        self._stop = threading.Event()
        self._drain = False
        self._journal: Journal | None = None
        self._saving: Future[tuple[float, int]] | None = None
        self._position: Position | None = None
        self._covered: list[Position | None] = []  # the positions of the kept checkpoints
        self.sequence = 0
        self.anonymizer = Anonymizer(self.policy)
        self.source: Source = connector_class(SOURCES, file.source.name)(file.source.settings)
        self.source.fields, self.source.passed = self.policy.fields, self.policy.kept
        self.sink: Sink = connector_class(SINKS, file.sink.name)(file.sink.settings)
        self._trace = FileSink(FileSink.Settings(path=file.trace), private=True) if file.trace else None
        self._letters = DeadLetterFile(file.dead_letters) if file.dead_letters else None

    def stop(self, drain: bool = False) -> None:
        """Ask it to stop: tuples that wait are kept for the next start, or with `drain` published."""
        self._drain |= drain
        self._stop.set()

    def run(self) -> Stats | FilterStats:
        """Run until the source ends or `stop` is called."""
        cipher = FileCipher(self.file.state.key.read())
        with ExitStack() as stack:
            store = Store(self.file.state.dir, cipher)
            stack.callback(store.close)
            stack.callback(self.source.close)
            for _, sink in self.sinks():
                stack.callback(sink.close)
            try:
                self._open(store)
                with ThreadPoolExecutor(1) as pool:
                    self._flow(store, pool)
            except BaseException as error:
                self._report_end(str(error) if isinstance(error, ShoalError) else type(error).__name__)
                raise
            finally:
                if self._journal:
                    self._journal.close()
        self._report_end("the source has ended" if self.source.ended else "it was asked to stop")
        return self.anonymizer.stats

    def _report_end(self, reason: str) -> None:
        if self.watcher:
            self.watcher.stopped(reason)

    def _open(self, store: Store) -> None:
        saved = store.load()
        _warn(store)
        facts = self._restore(saved) if saved else {}
        self._position = facts.get("position")
        if self.source.replays:
            self._position = self.source.begin(self._position)
        self._intake = Intake(self.source)
        for name, sink in self.sinks():
            sink.begin(facts.get("marks", {}).get(name), self.sequence)
        if saved:
            self._replay(store, saved)
        if not self.source.replays:  # its payloads come from the journal, so it begins after the replay
            self._position = self.source.begin(self._position)
        for _, sink in self.sinks():
            sink.caught_up(self.sequence)
        for _, sink in self.sinks():
            sink.make_durable()
        self._journal = store.journal()
        store.save(self._checkpoint(), store.number)
        self._covered = [self._position]
        if self.watcher:
            self.watcher.started(self.anonymizer.stats)

    def _restore(self, saved: SavedState) -> dict[str, Any]:
        facts, changed = compatible_facts(saved, self.policy, self.file)
        self.sequence = facts["sequence"]
        if not any(name.startswith("policy") for name in changed):
            self.anonymizer.restore(saved.checkpoint.snapshot)
        self._lateness.newest = facts["newest"] if facts["newest"] is not None else -math.inf
        if facts["clock"] is not None:
            self._clock.reached(facts["clock"])
        return facts

    def _replay(self, store: Store, saved: SavedState) -> None:
        count = 0
        for entry in saved.entries:
            count += 1
            if entry.kind != "delivery":
                self._apply(entry, ())
                continue
            assert entry.position is not None
            payloads = self.source.replay(entry.position) if entry.payloads is None else entry.payloads
            self._position = entry.position
            self._apply(entry, payloads)
        _warn(store)
        if store.is_cut_short and not (self.sink.remembers and self.source.replays):
            why = "the source cannot give again what it held" if self.sink.remembers else "the sink cannot tell what it has"
            raise StateError(f"{self.file.state.dir}: a journal is damaged, and {why}; bring an intact copy back")
        log.info("resumed: %d journal entries replayed, %d tuples had left", count, self.sequence)

    def _flow(self, store: Store, pool: ThreadPoolExecutor) -> None:
        now = self._monotonic()
        checkpoint, tick, lag = now + self.file.state.checkpoint, now, now
        while not self._stop.is_set() and not self.source.ended:
            waits = self._waits
            until = min(math.inf if self._is_saving else checkpoint, tick if waits else math.inf, now + PATIENCE)
            moment = self._clock.now
            delivery = self.source.read(max(until - self._monotonic(), 0))
            if delivery and delivery.payloads:
                self._deliver(delivery.payloads, delivery.position)
            now = self._monotonic()
            if waits and now >= tick:
                self._tick(moment)
                tick = now + TICK
            if now >= checkpoint and not self._is_saving:
                self._save(store, pool)
                checkpoint = now + self.file.state.checkpoint
            if self.watcher and now >= lag:
                self.watcher.lag(self.source.lag)
                lag = now + 1
        if self.source.ended or self._drain:
            self._input(Entry("flush", self._today()), ())
        self._saved(wait=True)
        self._save(store, pool)
        self._saved(wait=True)
        log.info("stopped: %d tuples have left, %d are held", self.sequence, self._held)

    @property
    def _is_saving(self) -> bool:
        return self._saving is not None and not self._saving.done()

    @property
    def _held(self) -> int:
        stats = self.anonymizer.stats
        return stats.held if isinstance(stats, Stats) else 0

    @property
    def _waits(self) -> bool:
        """Whether tuples wait for the clock."""
        return not self.policy.is_filter and self.policy.window.timed and self._held > 0

    def _deliver(self, payloads: Sequence[Payload], position: Position) -> None:
        kept = None
        if not self.source.replays:
            kept = [payload for payload in payloads if isinstance(payload, bytes)]
        self._position = position
        self._input(Entry("delivery", self._today(), position, kept), payloads)
        if not self.source.replays:
            assert self._journal is not None
            self._journal.sync()
            self.source.acknowledge(position)

    def _tick(self, moment: float | None) -> None:
        """Tick to the time before the last read of the source, so that no older record waits to be read."""
        if moment is not None and moment > self._lateness.newest:
            self._input(Entry("tick", moment), ())

    def _input(self, entry: Entry, payloads: Sequence[Payload]) -> None:
        assert self._journal is not None
        self._journal.add(entry)
        self._apply(entry, payloads)

    def _apply(self, entry: Entry, payloads: Sequence[Payload]) -> None:
        """Pass an entry to the anonymizer, live or in a replay."""
        if entry.kind == "tick":
            self._clock.reached(entry.at)
            self._publish(self.anonymizer.tick(entry.at))
        elif entry.kind == "flush":
            self._publish(self.anonymizer.flush())
        else:
            for block in self._intake.blocks(payloads, self.anonymizer.stats.received):
                self._take_in(block, entry)

    def _take_in(self, block: Block, entry: Entry) -> None:
        block_in_time, late = self._lateness.in_time(block)
        if math.isfinite(self._lateness.newest):
            self._clock.reached(self._lateness.newest)
        try:
            answer = self.anonymizer.push_batch(block_in_time.batch, block_in_time.rows, block.names)
        except InputError:
            answer = self.anonymizer.push_batch(block.batch.slice(0, 0), np.zeros(0, np.int64))
            late = [Rejection(int(row), None, "of another type than those before") for row in block.rows]
        self.anonymizer.refuse([*late, *(Rejection(row, None, reason) for row, reason in block.bad)])
        if self.anonymizer.rejected and self._letters:
            self._sync()
            self._letters.write(sorted(self.anonymizer.rejected), block, entry.position or {}, entry.at)
        self._publish(answer)

    def _publish(self, answer: pa.RecordBatch) -> None:
        if len(answer):
            self._sync()
            self.sink.write(answer, self.sequence)
            self.sequence += len(answer)
            if self._trace:
                self._trace.write(self.anonymizer.trace, self.sequence)
        if self.watcher and self._journal:  # a replay was reported before the crash
            self.watcher.after(self.anonymizer, answer)

    def _sync(self) -> None:
        """Nothing becomes visible before the journal is durable; in a replay it already is."""
        if self._journal:
            self._journal.sync()

    def _save(self, store: Store, pool: ThreadPoolExecutor) -> None:
        """Begin a checkpoint, which is written while the stream continues."""
        self._saved()
        assert self._journal is not None
        begun = self._monotonic()
        self._sync()
        self._journal.close()
        checkpoint = self._checkpoint()
        self._journal = store.journal()
        number = store.number

        def written() -> tuple[float, int]:
            for _, sink in self.sinks():
                sink.make_durable()
            return self._monotonic() - begun, store.save(checkpoint, number)

        self._covered = [*self._covered, self._position][-KEPT:]  # the source may forget what the oldest covers
        self._saving = pool.submit(written)

    def _saved(self, wait: bool = False) -> None:
        """After a checkpoint is written, the source may forget what the previous one covers."""
        if self._saving is None or not (wait or self._saving.done()):
            return
        seconds, size = self._saving.result()
        self._saving = None
        if self.source.replays and (covered := self._covered[0]) is not None:
            self.source.acknowledge(covered)
        log.debug("checkpoint: %d bytes in %.3f s", size, seconds)
        if self.watcher:
            self.watcher.checkpointed(seconds, size)

    def _checkpoint(self) -> Checkpoint:
        newest = self._lateness.newest
        facts = {
            "position": self._position, "sequence": self.sequence, "held": self._held,
            "marks": {name: sink.mark for name, sink in self.sinks()},
            "newest": newest if math.isfinite(newest) else None, "clock": self._clock.now,
            "parts": part_digests(self.policy, self.file), "files": file_digests(self.file),
        }  # fmt: skip
        return Checkpoint(facts, self.anonymizer.snapshot())

    def sinks(self) -> Iterable[tuple[str, Sink]]:
        """All files and sinks that are written, by their keys in the pipeline's file."""
        yield "sink", self.sink
        if self._trace:
            yield "trace", self._trace
        if self._letters:
            yield "dead_letters", self._letters.sink


class Intake:
    """Turns the payloads of a source into blocks of records, numbered from the beginning of the stream."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parser: Parser | None = None
        self._before = 0  # records before the parser began to count

    def blocks(self, payloads: Sequence[Payload], received: int) -> Iterator[Block]:
        """The records of a delivery, after `received` others. Blocks of a table are numbered already."""
        if payloads and isinstance(payloads[0], Block):
            yield from (payload for payload in payloads if isinstance(payload, Block))
            return
        if self._parser is None:
            source, self._before = self._source, received
            self._parser = parser(source.format, source.fields, source.passed, source.columns)
        for block in self._parser.blocks([payload for payload in payloads if isinstance(payload, bytes)]):
            bad = [(row + self._before, reason) for row, reason in block.bad]
            yield block._replace(rows=block.rows + self._before, bad=bad)


def _warn(store: Store) -> None:
    while store.warnings:
        log.warning(store.warnings.pop(0))
