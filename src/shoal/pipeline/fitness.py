"""Whether a stored state fits a pipeline: what a tuple was taken in under is what it must leave under."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from shoal.errors import StateError
from shoal.pipeline.pipeline_file import Chosen, PipelineFile
from shoal.pipeline.store import Store
from shoal.pipeline.vault import Vault
from shoal.policy import Policy


def described(policy: Policy, file: PipelineFile) -> dict[str, str]:
    """A digest of each part that the state depends on. Secrets are not among them."""
    parts = {f"policy ({name})": digest for name, digest in policy.fingerprints.items()}
    return {**parts, "source": _digest(file.source), "sink": _digest(file.sink)}


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The parts that changed.

    >>> differences({"source": "a", "sink": "b"}, {"source": "a", "sink": "c"})
    ['sink']
    """
    return [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]


def _digest(chosen: Chosen) -> str:
    return hashlib.sha256(f"{chosen.name} {chosen.settings.model_dump_json()}".encode()).hexdigest()


def fitness(file: PipelineFile) -> Iterator[str]:
    """What would happen if the pipeline started now.

    Raises:
        StateError: the stored state cannot be used, or something must leave first.
    """
    policy = Policy.load(file.policy)
    store = Store(file.state.dir, Vault(file.state.key.read()))
    try:
        found = store.found()
        yield from store.warnings
        if found is None:
            yield f"{file.state.dir}: no state yet; the pipeline begins anew"
            return
        facts, changed = found.checkpoint.facts, differences(found.checkpoint.facts["parts"], described(policy, file))
        yield f"{file.state.dir}: {facts['sequence']:,} tuples had left at the last checkpoint, {facts['held']:,} were held"
        if changed and not found.is_settled:
            raise StateError(stale(file, facts["held"], changed))
        yield f"changed since: {', '.join(changed)}; nothing is held, so it can start" if changed else "the state fits"
    finally:
        store.close()


def stale(file: PipelineFile, held: int, changed: Sequence[str]) -> str:
    """Why a state cannot be gone on with, and the remedy."""
    return (
        f"{file.state.dir}: {held:,} tuples were taken in under another {', another '.join(changed)}; let them leave with the "
        "old files first: shoal pipe OLD.yaml --drain"
    )
