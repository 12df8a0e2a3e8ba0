"""What a pipeline refuses: files that say too little, and states, sources and sinks that do not fit together."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shoal.errors import ConnectorError, PolicyError, ShoalError, StateError
from shoal.pipeline import FileCipher, Pipe, PipelineFile, readiness
from shoal.pipeline.store import Store

from .base import KEY, POLICY, Crash, crashing_at, lines, outputs, place, record
from .pipes import COUNT, Small, stopped


def test_a_second_instance_is_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 10)
    Pipe(file).run()
    store = Store(file.state.dir, FileCipher(KEY))
    assert "the state fits" in list(readiness(file))  # to look is allowed
    with pytest.raises(StateError, match="another pipeline uses this state; stop it first"):
        Pipe(file).run()
    store.close()
    Pipe(file).run()


def test_output_that_no_state_knows_of_is_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 10)
    (tmp_path / "clean.jsonl").write_text("{}\n")
    with pytest.raises(ConnectorError, match="has content that no state knows"):
        Pipe(file).run()


def test_a_state_older_than_its_output_is_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 200, window=COUNT, checkpoint="1ms")
    pipe = Small(tmp_path)
    crashing_at(3, "_apply")(pipe)
    with pytest.raises(Crash):
        pipe.run()
    shutil.copytree(file.state.dir, tmp_path / "old")
    Small(tmp_path).run()
    shutil.rmtree(file.state.dir)
    shutil.copytree(tmp_path / "old", file.state.dir)
    before = outputs(tmp_path)
    with pytest.raises(ConnectorError, match="the state is older than its output"):
        Pipe(file).run()
    assert outputs(tmp_path) == before


def test_output_that_was_changed_is_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 300, window=COUNT)
    pipe = Small(tmp_path)
    crashing_at(5, "_deliver")(pipe)
    with pytest.raises(Crash):
        pipe.run()
    clean = tmp_path / "clean.jsonl"
    assert clean.stat().st_size
    clean.write_bytes(clean.read_bytes().replace(b'"age"', b'"AGE"'))
    with pytest.raises(ConnectorError, match="from byte 2 on it is not what the pipeline wrote"):
        Pipe(file).run()


def test_several_workers_are_refused(tmp_path: Path) -> None:
    file = place(tmp_path, 10)
    policy = tmp_path / "policy.yaml"
    policy.write_text(POLICY.format(window=COUNT).replace("name: fads", "name: fast, workers: 2"))
    with pytest.raises(PolicyError, match=r"algorithm.workers: what several workers do cannot be repeated"):
        Pipe(file)
    policy.write_text(POLICY.format(window=COUNT) + "lanes: 2\n")
    assert Pipe(file).run().released == 10


def test_one_file_for_two_things_is_refused(tmp_path: Path) -> None:
    place(tmp_path, 10)
    said = tmp_path / "pipeline.yaml"
    said.write_text(said.read_text().replace("trace.jsonl", "clean.jsonl"))
    with pytest.raises(PolicyError, match="trace: is the same file as sink; name another one"):
        Pipe(PipelineFile.load(said))


def test_two_pipelines_into_one_file_are_refused(tmp_path: Path) -> None:
    from shoal.connectors.file import FileSink

    file = place(tmp_path, 10)
    other = FileSink(FileSink.Settings(path=tmp_path / "clean.jsonl"))
    other.begin(None, 0)
    with pytest.raises(ConnectorError, match="another pipeline writes to it; name another file"):
        Pipe(file).run()
    other.close()


def test_a_followed_file_that_is_exchanged_is_noticed(tmp_path: Path) -> None:
    file = place(tmp_path, 100, window=COUNT, follow=True)
    pipe = Pipe(file)
    real = pipe._deliver

    def deliver(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]
        (tmp_path / "new.jsonl").write_text(lines(record(i) for i in range(300)))
        (tmp_path / "new.jsonl").replace(tmp_path / "raw.jsonl")

    pipe._deliver = deliver  # type: ignore[method-assign]
    with pytest.raises(ConnectorError, match="was replaced or cut while it was followed"):
        pipe.run()


class TestReadiness:
    """What is told of a pipeline that has not started: all that would keep it from starting, and nothing is changed."""

    def test_nothing_is_written(self, tmp_path: Path) -> None:
        file = place(tmp_path, 10, more="dead_letters: {file: dead.jsonl}")
        before = sorted(path.name for path in tmp_path.iterdir())
        assert list(readiness(file))[1:] == [
            "source: file can be read", "sink: file can be written", "trace: file can be written",
            "dead_letters: file can be written",
        ]  # fmt: skip
        assert sorted(path.name for path in tmp_path.iterdir()) == before

    def test_beside_a_pipeline_that_runs(self, tmp_path: Path) -> None:
        pipe = Pipe(place(tmp_path, 100, window=COUNT, follow=True))
        real, told = pipe._deliver, []

        def deliver(*arguments: object) -> None:
            real(*arguments)  # type: ignore[arg-type]
            told.extend(readiness(pipe.file))
            pipe.stop()

        pipe._deliver = deliver  # type: ignore[method-assign]
        assert pipe.run().held > 0  # type: ignore[union-attr]
        assert told[1:] == [
            "the journal after it is whole: 1 entries", "the state fits", "source: file can be read",
            "sink: file can be written", "trace: file can be written",
        ]  # fmt: skip

    @pytest.mark.parametrize(("old", "new", "said"), [
        ("raw.jsonl", "none.jsonl", r"none.jsonl: cannot be read \(no such file or directory\)"),
        ("{path: clean.jsonl", "{path: none/clean.jsonl", "clean.jsonl: cannot be written; check its folder"),
        ("{path: clean.jsonl", "{path: other.jsonl", "other.jsonl: has content that no state knows"),
        ("trace.jsonl", "clean.jsonl", "trace: is the same file as sink"),
        ("dir: state", "dir: raw.jsonl/state", "raw.jsonl/state: cannot be written; name another folder"),
        ("{file: {path: clean.jsonl}}", "{mqtt: {host: 127.0.0.1, port: 9, topic: t}}", "mqtt 127.0.0.1:9: cannot be reached"),
        ("{file: {path: clean.jsonl}}", "{http: {url: 'http://127.0.0.1:9/'}}", r"http http://127.0.0.1:9/: cannot be reached"),
    ])  # fmt: skip
    def test_what_would_keep_it_from_starting(self, tmp_path: Path, old: str, new: str, said: str) -> None:
        place(tmp_path, 10)
        (tmp_path / "other.jsonl").write_text("{}\n")
        text = (tmp_path / "pipeline.yaml").read_text()
        (tmp_path / "pipeline.yaml").write_text(text.replace(old, new))
        with pytest.raises(ShoalError, match=said):
            list(readiness(PipelineFile.load(tmp_path / "pipeline.yaml")))

    def test_a_source_that_was_exchanged(self, tmp_path: Path) -> None:
        file = place(tmp_path, 100, window="{count: 1000}", follow=True)
        stopped(file)
        (tmp_path / "raw.jsonl").write_text(lines(record(i) for i in range(1, 150)))
        for start in (lambda: list(readiness(file)), Pipe(file).run):
            with pytest.raises(ConnectorError, match="is not the file that was read before"):
                start()


class TestFile:
    """What a pipeline's file may say."""

    @pytest.mark.parametrize(("text", "said"), [
        ("policy: p.yaml", ["source: is missing; add where records come from, such as {file: {path: raw.jsonl}}"]),
        ("source: {kafak: {}}", ["source.kafak: is no connector here; known are"]),
        ("source: {file: {path: a.txt}}", ["source.file.path: unknown kind of file"]),
        ("sink: {file: {path: a.parquet}}", ["sink.file.path: cannot be written to its end; name it .jsonl or .csv"]),
        ("source: {file: {path: a.jsonl, folow: true}}", ["source.file.folow: unknown key; did you mean 'follow'?"]),
        ("state: {dir: s, checkpoint: soon}", ["state.checkpoint: is not a duration", "state.key: is missing"]),
        ("state: {dir: s, key: {}}", ["state.key: names no one place; write {env: NAME} or {file: PATH}"]),
        ("trace: t.txt", ["trace.file: is written as JSON lines; name it .jsonl"]),
        ("dead_letters: {file: d.csv}", ["dead_letters.file: is written as JSON lines; name it .jsonl"]),
        ("stat: {}", ["stat: unknown key; did you mean 'state'?"]),
        ("- a", ["the pipeline is not a mapping"]),
    ])  # fmt: skip
    def test_problems_name_their_place(self, text: str, said: list[str]) -> None:
        with pytest.raises(PolicyError) as error:
            PipelineFile.parse(text)
        for each in said:
            assert each in str(error.value)
