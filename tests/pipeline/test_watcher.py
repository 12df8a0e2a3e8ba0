"""What a watcher of a pipeline is shown: what it waits for, what failed, and where it reads and writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal.errors import StateError
from shoal.pipeline import Pipe, PipelineFile
from shoal.pipeline.store import Checkpoint, Store
from shoal.telemetry import Telemetry
from tests.pipeline.base import place

SECRETS = """
policy: policy.yaml
source: {SOURCE}
sink: {SINK}
state: {dir: state, key: {env: SHOAL_KEY}}
"""
KAFKA = "{kafka: {brokers: 'HIDDEN:9092', topic: raw, group: HIDDEN, options: {sasl.password: {env: HIDDEN}}}}"
MQTT = "{mqtt: {host: HIDDEN, topic: clean, user: HIDDEN, password: {env: HIDDEN}}}"
HTTP = "{http: {url: 'http://HIDDEN:8/HIDDEN?key=HIDDEN'}}"
FILE = "{file: {path: HIDDEN/raw.jsonl}}"


@pytest.mark.parametrize(
    ("source", "sink", "told"),
    [
        (KAFKA, MQTT, ("kafka raw", "mqtt clean")),
        (FILE, HTTP, ("file raw.jsonl", "http")),
        (FILE, "stdout", ("file raw.jsonl", "stdout")),
    ],
)
def test_source_and_sink_are_named_without_addresses_and_secrets(
    tmp_path: Path, source: str, sink: str, told: tuple[str, str]
) -> None:
    place(tmp_path)
    file = PipelineFile.parse(SECRETS.replace("{SOURCE}", source).replace("{SINK}", sink), tmp_path)
    assert Pipe(file).about() == {"source": told[0], "sink": told[1]}


def test_a_checkpoint_that_cannot_be_written_is_said_before_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = place(tmp_path, 200)
    real = Store.save

    def failing(self: Store, checkpoint: Checkpoint, number: int) -> int:
        if checkpoint.facts["sequence"]:
            raise StateError("state: cannot be written (no space left on device); make room")
        return real(self, checkpoint, number)

    monkeypatch.setattr(Store, "save", failing)
    telemetry = Telemetry(Pipe(file).policy)
    with pytest.raises(StateError):
        Pipe(file, watcher=telemetry).run()
    reason = "state: cannot be written (no space left on device); make room"
    assert [(entry["level"], entry["text"]) for entry in telemetry.log.entries()] == [
        ("info", "The pipeline has started."),
        ("red", f"A checkpoint could not be written: {reason}."),
        ("info", f"The pipeline has stopped: {reason}."),
    ]


def test_the_time_of_a_pipeline_is_waiting_or_work(tmp_path: Path) -> None:
    file = place(tmp_path, 200)
    pipe = Pipe(file)
    phases: list[str] = []
    telemetry = pipe.watcher = Telemetry(pipe.policy)
    real = telemetry.phase
    telemetry.phase = lambda name: (phases.append(name), real(name))[1]  # type: ignore[assignment,method-assign]
    pipe.run()
    assert set(phases) == {"source", "work", "sink"}
    assert pipe.links() == {"source": None, "sink": None}
    assert telemetry.snapshot()["wall"]["ever"] is not None
