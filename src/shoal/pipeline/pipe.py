"""The pipeline: a policy between a source and a sink, for months, with nothing lost and nothing twice.

The anonymizer is given deliveries and ticks, in order, and nothing else decides what it does. What it is given is in the
journal before anything that depends on it becomes visible. Now and then a checkpoint holds the whole state, and the journal
starts anew. After a crash the journal is given again, from the newest checkpoint on, so that the same tuples leave in the same
groups under the same numbers, and the sink passes over those that it has.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.anonymizer import Anonymizer, FilterStats, Rejection, Stats
from shoal.connectors import Payload, Position
from shoal.connectors.connector import Sink, Source
from shoal.connectors.file import FileSink
from shoal.connectors.registry import SINKS, SOURCES, connector
from shoal.errors import InputError, PolicyError, ShoalError, StateError
from shoal.formats import Block
from shoal.pipeline.dead_letters import DeadLetterFile
from shoal.pipeline.fitness import described, files, fitting
from shoal.pipeline.intake import Intake
from shoal.pipeline.journal import Entry, Journal
from shoal.pipeline.lateness import Lateness
from shoal.pipeline.pipeline_file import PipelineFile, refuse_same
from shoal.pipeline.store import KEPT, Checkpoint, Found, Store
from shoal.pipeline.stream_clock import StreamClock
from shoal.pipeline.vault import Vault
from shoal.pipeline.watcher import Watcher
from shoal.policy import Policy

TICK = 0.01
"""Seconds from one tick to the next, while tuples wait for the clock."""

PATIENCE = 0.1
"""Seconds for which a source is waited for; so long it takes at most until a request to stop is heard."""

log = logging.getLogger("shoal.pipe")


class Pipe:
    """One pipeline, from where it stopped.

    Parameters
    ----------
    file
        What its file says.
    watcher
        Is told what happens.
    monotonic, today
        The clocks, for tests.
    """

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
        self._covered: list[Position | None] = []  # by the checkpoints that are kept
        self.sequence = 0
        self.anonymizer = Anonymizer(self.policy)
        self.source: Source = connector(SOURCES, file.source.name)(file.source.settings)
        self.source.fields, self.source.passed = self.policy.fields, self.policy.kept
        self.sink: Sink = connector(SINKS, file.sink.name)(file.sink.settings)
        self._trace = FileSink(FileSink.Settings(path=file.trace), private=True) if file.trace else None
        self._letters = DeadLetterFile(file.dead_letters) if file.dead_letters else None

    def stop(self, drain: bool = False) -> None:
        """Ask it to stop: what waits is kept for the next start, or is published."""
        self._drain |= drain
        self._stop.set()

    def run(self) -> Stats | FilterStats:
        """Go on until the source ends, or it is asked to stop.

        Raises
        ------
        StateError, ConnectorError, InputError
            The state, the source or the sink cannot be used.
        """
        vault = Vault(self.file.state.key.read())
        with ExitStack() as stack:
            store = Store(self.file.state.dir, vault)
            stack.callback(store.close)
            stack.callback(self.source.close)
            for _, sink in self.sinks():
                stack.callback(sink.close)
            try:
                self._open(store)
                with ThreadPoolExecutor(1) as pool:
                    self._flow(store, pool)
            except BaseException as error:
                self._tell(str(error) if isinstance(error, ShoalError) else type(error).__name__)
                raise
            finally:
                if self._journal:
                    self._journal.close()
        self._tell("the source has ended" if self.source.ended else "it was asked to stop")
        return self.anonymizer.stats

    def _tell(self, reason: str) -> None:
        if self.watcher:
            self.watcher.stopped(reason)

    def _open(self, store: Store) -> None:
        found = store.found()
        _warn(store)
        facts = self._restore(found) if found else {}
        self._position = facts.get("position")
        if self.source.replays:
            self._position = self.source.begin(self._position)
        self._intake = Intake(self.source)
        for name, sink in self.sinks():
            sink.begin(facts.get("marks", {}).get(name), self.sequence)
        if found:
            self._replay(store, found)
        if not self.source.replays:  # what the journal kept of it, it does not see again
            self._position = self.source.begin(self._position)
        for _, sink in self.sinks():
            sink.caught_up(self.sequence)
        for _, sink in self.sinks():
            sink.harden()
        self._journal = store.journal()
        store.save(self._checkpoint(), store.number)
        self._covered = [self._position]
        if self.watcher:
            self.watcher.started(self.anonymizer.stats)

    def _restore(self, found: Found) -> dict[str, Any]:
        facts, changed = fitting(found, self.policy, self.file)
        self.sequence = facts["sequence"]
        if not any(name.startswith("policy") for name in changed):
            self.anonymizer.restore(found.checkpoint.snapshot)
        self._lateness.newest = facts["newest"] if facts["newest"] is not None else -math.inf
        if facts["clock"] is not None:
            self._clock.reached(facts["clock"])
        return facts

    def _replay(self, store: Store, found: Found) -> None:
        count = 0
        for entry in found.entries:
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
        log.info("resumed: %d journal entries came again, %d tuples had left", count, self.sequence)

    def _flow(self, store: Store, pool: ThreadPoolExecutor) -> None:
        now = self._monotonic()
        checkpoint, tick, look = now + self.file.state.checkpoint, now, now
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
            if self.watcher and now >= look:
                self.watcher.lag(self.source.lag)
                look = now + 1
        if self.source.ended or self._drain:
            self._give(Entry("flush", self._today()), ())
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
        self._give(Entry("delivery", self._today(), position, kept), payloads)
        if not self.source.replays:
            assert self._journal is not None
            self._journal.sync()
            self.source.acknowledge(position)

    def _tick(self, moment: float | None) -> None:
        """The clock stood there before the source was last asked, so that nothing older waits to be read."""
        if moment is not None and moment > self._lateness.newest:
            self._give(Entry("tick", moment), ())

    def _give(self, entry: Entry, payloads: Sequence[Payload]) -> None:
        assert self._journal is not None
        self._journal.add(entry)
        self._apply(entry, payloads)

    def _apply(self, entry: Entry, payloads: Sequence[Payload]) -> None:
        """What the anonymizer is given, live or again."""
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
        if self.watcher and self._journal:  # what comes again was told before
            self.watcher.after(self.anonymizer, answer)

    def _sync(self) -> None:
        """Nothing becomes visible before the journal is safe; what comes again is in it already."""
        if self._journal:
            self._journal.sync()

    def _save(self, store: Store, pool: ThreadPoolExecutor) -> None:
        """Begin a checkpoint, which is written while the stream goes on."""
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
                sink.harden()
            return self._monotonic() - begun, store.save(checkpoint, number)

        self._covered = [*self._covered, self._position][-KEPT:]  # the oldest is what the source may forget
        self._saving = pool.submit(written)

    def _saved(self, wait: bool = False) -> None:
        """After a checkpoint is written, the source may forget what the one before it covers."""
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
            "parts": described(self.policy, self.file), "files": files(self.file),
        }  # fmt: skip
        return Checkpoint(facts, self.anonymizer.snapshot())

    def sinks(self) -> Iterable[tuple[str, Sink]]:
        """All that is written to, by its key in the pipeline's file."""
        yield "sink", self.sink
        if self._trace:
            yield "trace", self._trace
        if self._letters:
            yield "dead_letters", self._letters.sink


def _warn(store: Store) -> None:
    while store.warnings:
        log.warning(store.warnings.pop(0))
