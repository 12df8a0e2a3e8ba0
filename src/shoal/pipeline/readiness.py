"""Whether a pipeline could start now: its file, its state, its source and what it writes to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from shoal.errors import StateError
from shoal.pipeline.fitness import fitting
from shoal.pipeline.pipe import Pipe
from shoal.pipeline.pipeline_file import PipelineFile
from shoal.pipeline.store import Store
from shoal.pipeline.vault import Vault


def readiness(file: PipelineFile) -> Iterator[str]:
    """What would happen if the pipeline started now, a line each. Nothing is changed, and it may be running.

    Raises
    ------
    PolicyError, StateError, ConnectorError, InputError
        It could not start.
    """
    pipe = Pipe(file)
    nearest = next(each for each in (file.state.dir, *file.state.dir.absolute().parents) if each.exists())
    if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
        raise StateError(f"{file.state.dir}: cannot be written; name another folder, or check its permissions")
    store = Store(file.state.dir, Vault(file.state.key.read()), look=True)
    found = store.found()
    yield from store.warnings
    facts: dict[str, Any] = {"position": None, "sequence": 0, "marks": {}}
    if found is None:
        yield f"{file.state.dir}: no state yet; the pipeline begins anew"
    else:
        facts, changed = fitting(found, pipe.policy, file)
        yield f"{file.state.dir}: {facts['sequence']:,} tuples had left at the last checkpoint, {facts['held']:,} were held"
        yield f"changed since: {', '.join(changed)}; nothing is held, so it can start" if changed else "the state fits"
    is_known = pipe.source.probe(facts["position"])
    yield f"source: {file.source.name} {'can be read' if is_known else 'is tried only at the start'}"
    for name, sink in pipe.sinks():
        is_known = sink.probe(facts["marks"].get(name), facts["sequence"])
        kind = file.sink.name if name == "sink" else "file"
        yield f"{name}: {kind} {'can be written' if is_known else 'is tried only at the start'}"
