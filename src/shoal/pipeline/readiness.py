"""Whether a pipeline could start now: its file, its state, its source and its sinks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from shoal.algorithms import algorithm
from shoal.errors import StateError
from shoal.pipeline.compatibility import compatible_facts
from shoal.pipeline.encryption import FileCipher
from shoal.pipeline.pipe import Pipe, refuse_loss
from shoal.pipeline.pipeline_file import PipelineFile
from shoal.pipeline.store import SavedState, Store
from shoal.text import counted


def readiness(file: PipelineFile) -> Iterator[str]:
    """What would happen if the pipeline started now, in lines of text. Nothing is changed, and the pipeline may be running."""
    pipe = Pipe(file)
    nearest = next(each for each in (file.state.dir, *file.state.dir.absolute().parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise StateError(f"{file.state.dir}: cannot be written; name another folder, or check its permissions")
    store, saved, entries = _read_all(file)
    yield from store.warnings
    refuse_loss(pipe, store)
    facts: dict[str, Any] = {"position": None, "sequence": 0, "marks": {}}
    if saved is None:
        yield f"{file.state.dir}: no state yet; the pipeline starts from the beginning"
    else:
        facts, changed = compatible_facts(saved, pipe.policy, file)
        yield f"{file.state.dir}: {facts['sequence']:,} tuples had left at the last checkpoint, {facts['held']:,} were held"
        yield f"the journal after it is whole: {entries:,} entries"
        if facts["lost"]:
            yield f"{counted(facts['lost'], 'journal entry', 'journal entries')} lost before, knowingly"
        yield f"changed since: {', '.join(changed)}; nothing is held, so it can start" if changed else "the state fits"
    is_known = pipe.source.probe(facts["position"])
    yield f"source: {file.source.name} {'can be read' if is_known else 'is tried only at the start'}"
    for name, sink in pipe.sinks():
        is_known = sink.probe(facts["marks"].get(name), facts.get("bagged", 0) if name == "bags" else facts["sequence"])
        chosen = {"sink": file.sink, "bags": file.bags}.get(name)
        kind = chosen.name if chosen else "file"
        yield f"{name}: {kind} {'can be written' if is_known else 'is tried only at the start'}"
        yield from sink.outlook()
        if name == "sink" and sink.delay and not pipe.policy.is_filter and pipe.policy.window.timed:
            wait = algorithm(pipe.policy).deadline
            longest = f"at most {wait + sink.delay:g} s after it arrived, and a commit"
            yield f"with a window of {wait:g} s, readers see a tuple {longest}"


def _read_all(file: PipelineFile) -> tuple[Store, SavedState | None, int]:
    """The state, and how many entries the journals after its checkpoint have; all of them are read.

    A running pipeline may remove a journal while it is read, if it has written a newer checkpoint; then it is read again.
    """
    while True:
        store = Store(file.state.dir, FileCipher(file.state.key.read()), read_only=True)
        before = store.newest_checkpoint
        saved = store.load()
        entries = sum(1 for _ in saved.entries) if saved else 0
        if not store.is_cut_short or store.newest_checkpoint == before:
            return store, saved, entries
