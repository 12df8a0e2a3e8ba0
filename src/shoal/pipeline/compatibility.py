"""Whether a saved state is compatible with a pipeline: a tuple must leave under the settings under which it arrived."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.anonymizer import secret
from shoal.connectors import SINKS, SOURCES, connector_class
from shoal.errors import StateError
from shoal.pipeline.pipeline_file import Chosen, PipelineFile
from shoal.pipeline.store import SavedState
from shoal.policy import Policy, Zanon


def part_digests(policy: Policy, file: PipelineFile) -> dict[str, str]:
    """A digest of each part that the state depends on."""
    parts = {f"policy ({name})": digest for name, digest in policy.fingerprints.items()}
    parts["late"] = _sha256(file.late.model_dump_json() if file.late and file.late.then == "reject" else "")
    parts["ahead"] = _sha256(file.ahead.model_dump_json() if file.ahead.then == "reject" else "")
    if isinstance(policy.algorithm, Zanon):
        parts["secret"] = _sha256(secret(policy.algorithm).hex())
    return {**parts, "source": _digest(SOURCES, file.source, file), "sink": _digest(SINKS, file.sink, file)}


def file_digests(file: PipelineFile) -> dict[str, str]:
    """A digest of the path of each file that is written beside the sink."""
    paths = {"trace": file.trace and file.trace.file, "dead_letters": file.dead_letters and file.dead_letters.file}
    rotated = {"trace": f" {file.trace.rotate}" if file.trace and file.trace.rotate else ""}
    found = {name: _sha256(_from_state(path, file) + rotated.get(name, "")) for name, path in paths.items() if path}
    return {**found, "bags": _digest(SINKS, file.bags, file)} if file.bags else found


def shown_stable(policy: Policy) -> dict[str, str]:
    """How each stable attribute is published: a digest of its blocks, whatever their order and names, or that it is in bags.

    A value that is read as missing is in no block.
    """
    if policy.is_filter:
        return {}
    cuts = {
        name: sorted(sorted({*block} - {*policy.nulls_of(name)}) for block in blocks.values)
        for name, blocks in policy.blocks.items()
    }
    return {**{name: _sha256(str(cut)) for name, cut in cuts.items()}, **dict.fromkeys(policy.bags, "bag")}


def _refuse_new_cuts(before: Mapping[str, str], policy: Policy, file: PipelineFile) -> None:
    """Old and new blocks together name values; so do blocks and bags, and blocks and the values themselves."""
    now = shown_stable(policy)
    for name, shown in before.items():
        if name in policy.attributes and now.get(name) != shown:
            how = "was in bags, and no longer is" if shown == "bag" else "its blocks have changed"
            raise StateError(
                f"{file.state.dir}: '{name}': {how}; on one sink both together name values: keep them as they were, or name "
                "another sink"
            )


def differences(old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    """The parts that changed.

    >>> differences({"source": "a", "sink": "b"}, {"source": "a", "sink": "c"})
    ['sink']
    """
    return [name for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]


def compatible_facts(saved: SavedState, policy: Policy, file: PipelineFile) -> tuple[dict[str, Any], list[str]]:
    """The facts of a saved state that a pipeline can resume from, and the parts that changed.

    A new source has no position yet, and a new sink no mark. How stable attributes were published is known of each sink. Raises
    StateError if parts changed, and tuples are held that must leave first.
    """
    facts = {**saved.checkpoint.facts, "marks": dict(saved.checkpoint.facts["marks"])}
    changed = differences(facts["parts"], part_digests(policy, file))
    if "cuts" not in facts:  # states of earlier builds know one sink
        facts["cuts"] = {} if "sink" in changed else {sink_place(file): facts.get("stable", {})}
    _refuse_new_cuts(facts["cuts"].get(sink_place(file), {}), policy, file)
    if changed and not saved.is_settled:
        raise StateError(
            f"{file.state.dir}: tuples were taken in under another {', another '.join(changed)} ({facts['held']:,} were held "
            "at the last checkpoint); let them leave with the old files first: shoal pipe OLD.yaml --drain"
        )
    if "source" in changed:
        facts["position"] = facts["newest"] = facts["clock"] = None
    others = ["sink"] if "sink" in changed else []
    for name in [*others, *differences(facts["files"], file_digests(file))]:
        facts["marks"].pop(name, None)
    return facts, changed


def sink_place(file: PipelineFile) -> str:
    """A digest of where tuples go, for their readers: two pipelines with other ids can write to one topic or table."""
    return _digest(SINKS, file.sink, file, but="id")


def _digest(known: dict[str, str], chosen: Chosen, file: PipelineFile, but: str | None = None) -> str:
    """A digest of the settings that identify a source or a sink."""
    names = (name for name in connector_class(known, chosen.name).identity if name != but)
    values = [getattr(chosen.settings, name) for name in names]
    return _sha256(str([chosen.name, *(_from_state(one, file) if isinstance(one, Path) else one for one in values)]))


def _from_state(path: Path, file: PipelineFile) -> str:
    """The path relative to the state's folder, so that both may move together."""
    return os.path.relpath(os.path.realpath(path), os.path.realpath(file.state.dir))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
