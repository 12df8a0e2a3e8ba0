"""The pipeline: a policy between a source and a sink, for months, with nothing lost and nothing twice.

The input of the anonymizer is deliveries and ticks, in order; nothing else decides what it does. Its input is in the journal
before anything that depends on it becomes visible. From time to time a checkpoint saves the whole state, and a new journal
begins. After a crash the journal is replayed from the newest checkpoint on: the same tuples leave in the same groups under the
same numbers, and the sink skips those that it already has.
"""

from __future__ import annotations

import gc
import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from shoal.anonymizer import Anonymizer, FilterStats, Rejection, Stats
from shoal.column_types import as_nested
from shoal.columns import shape
from shoal.connectors import SINKS, SOURCES, Payload, Position, Sink, Source, connector_class
from shoal.errors import InputError, PolicyError, ShoalError, StateError
from shoal.formats import Block
from shoal.pipeline.compatibility import compatible_facts, file_digests, part_digests, shown_stable, sink_place
from shoal.pipeline.dead_letters import DeadLetterFile
from shoal.pipeline.encryption import FileCipher
from shoal.pipeline.intake import Intake, with_ticks
from shoal.pipeline.journal import Entry, Journal
from shoal.pipeline.pipeline_file import PipelineFile, described, refuse_same
from shoal.pipeline.published import published_schema
from shoal.pipeline.store import KEPT, Checkpoint, SavedState, Store
from shoal.pipeline.stream_time import StreamClock, time_bounds
from shoal.pipeline.trace import Moment, TraceSink
from shoal.policy import Policy
from shoal.text import counted

TICK = 0.01  # seconds from one tick to the next, while tuples wait for the clock
SPOOL = "spool"  # the file of tuples that left the window, and wait for a commit of the sink
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

    def phase(self, name: str) -> None:
        """From now on it waits for its `source` or its `sink`, or does `work`."""

    def failed(self, reason: str) -> None:
        """A checkpoint could not be written, for a reason that holds no data."""

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
        _refuse_bags(self.policy, file)
        self.watcher = watcher
        self._monotonic, self._today = monotonic, today
        self._clock = StreamClock(monotonic)
        self._bounds = time_bounds(file)
        self._set_back: float | None = None
        self._next_tick = 0.0
        self._ticked = -math.inf  # the stream's time at the newest tick
        self._accepts_loss = False
        self._stop = threading.Event()
        self._drain = False
        self._journal: Journal | None = None
        self._store: Store | None = None
        self._saving: Future[tuple[float, int]] | None = None
        self._parts, self._files = part_digests(self.policy, file), file_digests(file)
        self._position: Position | None = None
        self._covered: list[Position | None] = []  # the positions of the kept checkpoints
        self.sequence = 0
        self.bagged = 0  # values that have left in bags
        self._cuts = {sink_place(file): shown_stable(self.policy)}  # by sink: how stable attributes are published there
        self.lost = 0  # journal entries that were lost, knowingly
        self.anonymizer = Anonymizer(self.policy, bounds=self._bounds)
        self.source = self._new_source()
        self.sink: Sink = connector_class(SINKS, file.sink.name)(file.sink.settings)
        self.sink.fields, self.sink.schema = self.policy.published, published_schema(self.policy)
        self.sink.shape, self.sink.forms = shape(self.policy), self.policy.input.times
        self.sink.spool = file.state.dir / SPOOL
        self._bags: Sink | None = None
        if file.bags:
            self._bags = connector_class(SINKS, file.bags.name)(file.bags.settings)
            self._bags.schema = self.anonymizer.bags.schema
            self._bags.fields = self._bags.schema.names
            self._bags.spool = file.state.dir / f"{SPOOL}-bags"
        self._trace = TraceSink(file.trace.file, file.trace.rotate) if file.trace else None
        self._letters = DeadLetterFile(file.dead_letters) if file.dead_letters else None

    def _new_source(self) -> Source:
        source: Source = connector_class(SOURCES, self.file.source.name)(self.file.source.settings)
        source.fields, source.passed = self.policy.fields, self.policy.kept
        source.dialect = self.policy.input.dialect
        return source

    def stop(self, drain: bool = False) -> None:
        """Ask it to stop: tuples that wait are kept for the next start, or with `drain` published."""
        self._drain |= drain
        self._stop.set()

    def about(self) -> dict[str, str]:
        """What source and sink are, without addresses and secrets."""
        return {"source": described(self.file.source), "sink": described(self.file.sink)}

    def links(self) -> dict[str, bool | None]:
        """Whether source and sink have a connection; None where that is unknown. From any thread."""
        return {"source": self.source.connected, "sink": self.sink.connected}

    def set_clock(self, moment: float) -> None:
        """Set the clock of the stream back at the start: records with wrong times moved it ahead."""
        self._set_back = moment

    def accept_loss(self) -> None:
        """Go on although a part of the journal cannot be read. What was held, or in that part, is lost, and counted."""
        self._accepts_loss = True

    def run(self) -> Stats | FilterStats:
        """Run until the source ends or `stop` is called."""
        cipher = FileCipher(self.file.state.key.read())
        with ExitStack() as stack:
            self._store = store = Store(self.file.state.dir, cipher)
            stack.callback(store.close)
            stack.callback(lambda: self.source.close())
            for _, sink in self.sinks():
                stack.callback(sink.close)
            try:
                self._open(store)
                with ThreadPoolExecutor(1) as pool, _quick_collections():
                    self._flow(store, pool)
            except BaseException as error:
                self._report_end(str(error) if isinstance(error, ShoalError) else type(error).__name__)
                raise
            finally:
                if self._journal:
                    self._journal.close()
        self._report_end("the source has ended" if self.source.ended else "it was asked to stop")
        return self.anonymizer.stats

    def _enter(self, phase: str) -> None:
        if self.watcher:
            self.watcher.phase(phase)

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
            sink.begin(facts.get("marks", {}).get(name), self._left(name))
        if saved:
            self._replay(store, saved)
        if not self.source.replays:  # its payloads come from the journal, so it begins after the replay
            self._position = self.source.begin(self._position)
        for name, sink in self.sinks():
            sink.caught_up(self._left(name))
        for _, sink in self.sinks():
            sink.make_durable()
        self._journal = store.journal()
        self._sync()
        store.save(self._checkpoint(), store.number)
        self._note_moment(self._moment())
        self._covered = [self._position]
        if self._set_back is not None:
            self._input(Entry("clock", self._set_back), ())
            self._sync()
        if self.watcher:
            self.watcher.started(self.anonymizer.stats)

    def _restore(self, saved: SavedState) -> dict[str, Any]:
        facts, changed = compatible_facts(saved, self.policy, self.file)
        self.sequence, self.lost = facts["sequence"], facts["lost"]
        self.bagged = facts.get("bagged", 0)
        self._cuts = {**facts["cuts"], **{sink: {**facts["cuts"].get(sink, {}), **now} for sink, now in self._cuts.items()}}
        if not any(name.startswith("policy") for name in changed):
            self.anonymizer.restore(saved.checkpoint.snapshot)
        self._bounds.newest = facts["newest"] if facts["newest"] is not None else -math.inf
        if facts["clock"] is not None:
            self._clock.reached(facts["clock"])
        if self._letters and facts["letters"] and "dead_letters" in facts["marks"]:
            self._letters.restore(facts["letters"])
        return facts

    def _replay(self, store: Store, saved: SavedState) -> None:
        count = 0
        for entry, ticks in with_ticks(saved.entries):
            count += 1 + len(ticks)
            if entry.kind != "delivery":
                self._apply(entry, ())
                continue
            assert entry.position is not None
            payloads = self.source.replay(entry.position) if entry.payloads is None else entry.payloads
            self._position = entry.position
            self._apply(entry, payloads, ticks)
        _warn(store)
        if store.is_cut_short and self._accepts_loss:
            self._go_on(store)
        refuse_loss(self, store)
        log.info("resumed: %d journal entries replayed, %d tuples had left", count, self.sequence)

    def _go_on(self, store: Store) -> None:
        """Forget what is held, since it may have left, and go on where the pipeline had come to."""
        reached = store.reached
        if reached is None or (self.source.replays and reached.position is None):
            raise StateError(f"{self.file.state.dir}: it is not known where the source was; start with another state")
        held, records = self._held, max(reached.received - self.anonymizer.received, 0)
        store.accept_loss()
        self.lost += max(store.lost, 1)
        self.anonymizer = Anonymizer(self.policy, bounds=self._bounds)
        self.anonymizer.begin_at(reached.received)
        if self.source.replays:
            self.source.close()
            self.source = self._new_source()
            self.source.begin(reached.position)
            self._intake = Intake(self.source)
        self._position = reached.position or self._position
        self.sequence = max(
            [reached.sequence, *(sink.take_over(self.sequence) for name, sink in self.sinks() if name == "sink")]
        )
        for name, sink in self.sinks():
            if name == "bags":
                self.bagged = sink.take_over(self.bagged)
            elif name != "sink":
                sink.take_over(0)
        store.is_cut_short = False
        lost = counted(store.lost, "journal entry", "journal entries") if store.lost > 0 else "journal entries"
        log.warning("accepted a loss: %s with %s, and %s that waited", lost, counted(records, "record"), counted(held, "tuple"))

    def _flow(self, store: Store, pool: ThreadPoolExecutor) -> None:
        now = self._monotonic()
        checkpoint, lag = now + self.file.state.checkpoint, now
        self._next_tick = now
        while not self._stop.is_set() and not self.source.ended:
            waits = self._waits
            until = min(math.inf if self._is_saving else checkpoint, self._next_tick if waits else math.inf, now + PATIENCE)
            moment = self._clock.now
            self._enter("source")
            delivery = self.source.read(max(until - self._monotonic(), 0))
            self._enter("work")
            if delivery and delivery.payloads:
                self._deliver(delivery.payloads, delivery.position)
            now = self._monotonic()
            if waits and now >= self._next_tick:
                self._tick(moment)
                self._next_tick = now + TICK
            if self._letters and self._letters.has_sums and self._letters.owes(at := self._today()):
                self._input(Entry("letters", at), ())
            self._enter("sink")
            for _, sink in self.sinks():
                sink.store_waiting()
            self._enter("work")
            if now >= checkpoint and not self._is_saving:
                self._save(store, pool)
                checkpoint = now + self.file.state.checkpoint
            if self.watcher and now >= lag:
                self.watcher.lag(self.source.lag)
                lag = now + 1
        if self.source.ended or self._drain:
            self._input(Entry("flush", self._today()), ())
        elif self._letters and self._letters.has_sums:
            self._input(Entry("letters", self._today()), ())
        for _, sink in self.sinks():
            sink.store_waiting(everything=True)
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
            self._sync()
            self.source.acknowledge(position)

    def _tick(self, moment: float | None) -> None:
        """Tick to the time before the last read of the source, so that no older record waits to be read."""
        if moment is not None and moment > self._bounds.newest:
            self._input(Entry("tick", moment), ())

    def _input(self, entry: Entry, payloads: Sequence[Payload]) -> None:
        assert self._journal is not None
        self._journal.add(entry)
        self._apply(entry, payloads)

    def _apply(self, entry: Entry, payloads: Sequence[Payload], ticks: Sequence[Entry] | None = None) -> None:
        """Pass an entry to the anonymizer, live or in a replay; `ticks` came while the delivery was taken in before."""
        if entry.kind == "tick":
            self._clock.reached(entry.at)
            self._ticked = max(self._ticked, entry.at)
            self._publish(self.anonymizer.tick(entry.at))
        elif entry.kind == "flush":
            if self._letters:
                self._letters.sum_up()
            self._publish(self.anonymizer.flush())
        elif entry.kind == "letters":
            self._sync()
            if self._letters:
                self._letters.sum_up()
        elif entry.kind == "clock":
            self._set_clock_back(entry.at)
        else:
            self._bounds.today = entry.at
            if self._letters and self._letters.owes(entry.at):
                self._sync()
                self._letters.sum_up()
            blocks = self._intake.blocks(payloads, self.anonymizer.received)
            for block in blocks if ticks is None else self._between(blocks, deque(ticks)):
                if ticks is None:
                    self._tick_within()
                self._take_in(block, entry)

    def _tick_within(self) -> None:
        """Tick before the next block of a delivery: taking in a large one takes longer than a tuple may wait."""
        now = self._monotonic()
        if self._journal and now >= self._next_tick and self._waits and (moment := self._clock.now) is not None:
            self._input(Entry("tick", moment, {"row": self.anonymizer.received}), ())
            self._next_tick = self._monotonic() + TICK

    def _between(self, blocks: Iterable[Block], ticks: deque[Entry]) -> Iterator[Block]:
        """The blocks of a delivery, cut where ticks came between them, however they were cut before."""
        for block in blocks:
            rest = block
            while ticks and (row := int((ticks[0].position or {})["row"])) < rest.end:
                first, rest = rest.split(row)
                if len(first.rows) or first.bad:
                    yield first
                self._apply(ticks.popleft(), ())
            yield rest
        for tick in ticks:
            self._apply(tick, ())

    def _set_clock_back(self, moment: float) -> None:
        before = self._clock.now
        if before is None or before <= moment:
            log.warning("the clock is not ahead of that time; it stays as it is")
            return
        self.anonymizer.set_clock(moment)
        self._ticked = min(self._ticked, moment)
        self._bounds.newest = min(self._bounds.newest, moment)
        self._clock.set_back(moment)
        log.warning("the clock is set back by %.3f s", before - moment)

    def _take_in(self, block: Block, entry: Entry) -> None:
        newest = self._bounds.newest
        bad = [Rejection(row, None, reason) for row, reason in block.bad]
        try:
            answer = self.anonymizer.push_batch(block.batch, block.rows, block.names)
        except InputError:
            self._bounds.newest = newest
            answer = self.anonymizer.push_batch(block.batch.slice(0, 0), np.zeros(0, np.int64))
            bad += [Rejection(int(row), None, "of another type than those before") for row in block.rows]
        if math.isfinite(self._bounds.newest):
            self._clock.reached(self._bounds.newest)
        self.anonymizer.refuse(bad)
        if self.anonymizer.rejected and self._letters:
            self._sync()
            self._letters.write(sorted(self.anonymizer.rejected), block, entry.position or {}, entry.at)
        self._publish(answer)

    def _publish(self, answer: pa.RecordBatch) -> None:
        answer = as_nested(answer) if self.policy.nesting == "keep" else answer
        if len(answer):
            self._sync()
            self._enter("sink")
            self.sink.write(answer, self.sequence)
            self._enter("work")
            self.sequence += len(answer)
            self._note()
        if self._bags and len(bags := self.anonymizer.bags):
            self._sync()
            self._bags.write(bags, self.bagged)
            self.bagged += len(bags)
        if self._trace and len(trace := self.anonymizer.trace):  # also of tuples that the policy drops
            self._sync()
            self._trace.write(trace, self.sequence)
        if self.watcher and self._journal:  # a replay was reported before the crash
            self.watcher.after(self.anonymizer, answer)

    def _sync(self) -> None:
        """Nothing becomes visible before the journal is durable; in a replay it already is."""
        if self._journal and self._journal.sync():
            self._note()

    def _note(self) -> None:
        if self._journal and self._store:
            self._store.note(self.sequence, self.anonymizer.received, self._position)

    def _save(self, store: Store, pool: ThreadPoolExecutor) -> None:
        """Begin a checkpoint, which is written while the stream continues."""
        self._saved()
        assert self._journal is not None
        begun = self._monotonic()
        self._sync()
        self._journal.close()
        checkpoint = self._checkpoint()
        self._journal = store.journal()  # it is forced to the disk before anything depends on it
        number, moment = store.number, self._moment()

        def written() -> tuple[float, int]:
            for _, sink in self.sinks():
                sink.make_durable()
            seconds, size = self._monotonic() - begun, store.save(checkpoint, number)
            self._note_moment(moment)
            return seconds, size

        self._covered = [*self._covered, self._position][-KEPT:]  # the source may forget what the oldest covers
        self._saving = pool.submit(written)

    def _moment(self) -> Moment:
        """How far it has come."""
        clock = max(self._bounds.newest, self._ticked)
        lines = self._trace.lines if self._trace else 0
        return Moment(self._today(), self.anonymizer.received, lines, self.sequence, clock if math.isfinite(clock) else None)

    def _note_moment(self, moment: Moment) -> None:
        if self._trace:
            self._trace.note(moment)

    def _saved(self, wait: bool = False) -> None:
        """After a checkpoint is written, the source may forget what the previous one covers."""
        if self._saving is None or not (wait or self._saving.done()):
            return
        try:
            seconds, size = self._saving.result()
        except ShoalError as error:
            if self.watcher:
                self.watcher.failed(str(error))
            raise
        self._saving = None
        if self.source.replays and (covered := self._covered[0]) is not None:
            self.source.acknowledge(covered)
        log.debug("checkpoint: %d bytes in %.3f s", size, seconds)
        if self.watcher:
            self.watcher.checkpointed(seconds, size)

    def _checkpoint(self) -> Checkpoint:
        newest = self._bounds.newest
        facts = {
            "position": self._position, "sequence": self.sequence, "held": self._held, "lost": self.lost,
            "bagged": self.bagged, "cuts": self._cuts,
            "letters": self._letters.saved if self._letters else None,
            "marks": {name: sink.mark for name, sink in self.sinks()},
            "newest": newest if math.isfinite(newest) else None, "clock": self._clock.now,
            "parts": self._parts, "files": self._files,
        }  # fmt: skip
        return Checkpoint(facts, self.anonymizer.snapshot())

    def sinks(self) -> Iterable[tuple[str, Sink]]:
        """All files and sinks that are written, by their keys in the pipeline's file."""
        yield "sink", self.sink
        if self._bags:
            yield "bags", self._bags
        if self._trace:
            yield "trace", self._trace
        if self._letters:
            yield "dead_letters", self._letters.sink

    def _left(self, name: str) -> int:
        """How much has left into a sink, by its key in the pipeline's file."""
        return self.bagged if name == "bags" else self.sequence


@contextmanager
def _quick_collections() -> Iterator[None]:
    """The garbage collector leaves alone what was loaded before: to look at all of it takes longer than a tuple may wait."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _refuse_bags(policy: Policy, file: PipelineFile) -> None:
    """Bags need a place, and a place needs bags."""
    named = [] if policy.is_filter else list(policy.bags)
    if named and not file.bags:
        place = "say where these go, such as {file: {path: bags.jsonl}}"
        raise PolicyError([f"bags: is missing, and the policy publishes {', '.join(named)} in bags; {place}"])
    if file.bags and not named:
        raise PolicyError(["bags: no attribute of the policy is published in bags; remove it"])


def refuse_loss(pipe: Pipe, store: Store) -> None:
    """Refuse to go on after a part of the journal that cannot be read.

    Only if the sink tells what it has, and the source gives again what was in that part, nothing can be lost or leave twice.
    """
    if store.is_cut_short and not (pipe.sink.remembers and pipe.source.replays):
        why = "the source cannot give again what it held" if pipe.sink.remembers else "the sink cannot tell what it has"
        raise StateError(
            f"{pipe.file.state.dir}: a journal is damaged, and {why}; restore an intact copy, or continue "
            "without what is lost: shoal pipe --accept-loss"
        )


def _warn(store: Store) -> None:
    while store.warnings:
        log.warning(store.warnings.pop(0))
