"""A pipeline that still runs is judged: what is held is no violation, and a span of a long stream can be judged alone."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoal.audit import Report, audit, read_manifest
from shoal.errors import InputError
from shoal.pipeline import Pipe, PipelineFile

from .base import Crash, crashing_at, lines, place, record
from .pipes import COUNT, Small, stopped

ROTATED = "trace: {file: trace.jsonl, rotate: 100}"


def judged(folder: Path, since: float | None = None, until: float | None = None) -> Report:
    span = read_manifest(folder / "trace.manifest.json", since, until)
    files = (folder / "policy.yaml", folder / "raw.jsonl", folder / "clean.jsonl", folder / "trace.jsonl")
    return audit(*files, span=span)


def said(report: Report) -> dict[str, list[str]]:
    return {each.promise: [str(one) for one in each.violations] for each in report.promises if each.broken}


def moments(folder: Path) -> list[Any]:
    written = json.loads((folder / "trace.manifest.json").read_text())
    assert written["fields"] == ["at", "received", "released", "sequence", "clock"]
    return list(written["moments"])


@pytest.mark.parametrize("window", [COUNT, "{time: 30s}"])
def test_what_is_held_is_no_violation(tmp_path: Path, window: str) -> None:
    stopped(place(tmp_path, 500, window=window, follow=True))
    files = (tmp_path / "policy.yaml", tmp_path / "raw.jsonl", tmp_path / "clean.jsonl")
    whole = audit(*files, trace=tmp_path / "trace.jsonl")
    assert list(said(whole)) == ["once"]
    report = judged(tmp_path)
    assert said(report) == {}
    held = 500 - len((tmp_path / "trace.jsonl").read_text().splitlines())
    assert report["once"].figures["held"] == held > 0
    assert report["once"].note == f"{held:,} records were held when the span ended"


def test_what_came_after_the_manifest_is_left_out(tmp_path: Path) -> None:
    stopped(place(tmp_path, 500, window=COUNT, follow=True))
    with (tmp_path / "raw.jsonl").open("a") as file:
        file.write(lines(record(i) for i in range(500, 700)) + '{"pid": 1, "t"')
    with (tmp_path / "clean.jsonl").open("a") as file:
        file.write('{"age": [0, 5], "ci')
    report = judged(tmp_path)
    assert said(report) == {} and report["once"].figures["accepted"] == 500


def test_what_is_kept_past_its_deadline_is_named(tmp_path: Path) -> None:
    """A line of the trace is taken away: its record is not held, since its deadline is over."""
    stopped(place(tmp_path, 500, window=COUNT, follow=True))
    path, clean = tmp_path / "trace.jsonl", tmp_path / "clean.jsonl"
    traced, shown = path.read_text().splitlines(keepends=True), clean.read_text().splitlines(keepends=True)
    gone = json.loads(traced.pop())["row"]
    shown.pop()
    first = json.loads(traced.pop(0))["row"]
    shown.pop(0)
    path.write_text("".join(traced))
    clean.write_text("".join(shown))
    report = judged(tmp_path)
    assert f"input row {first + 1}: never left" in said(report)["once"]
    assert gone >= 0


def test_the_manifest_is_private_and_keeps_one_moment_an_hour(tmp_path: Path) -> None:
    file = place(tmp_path, 500, window=COUNT, follow=True, checkpoint="1ms")
    hours = iter(range(10**6))
    pipe = Small(tmp_path)
    pipe._today = lambda: next(hours) * 600.0  # ten minutes pass from one look to the next
    real = pipe._deliver

    def deliver(*arguments: Any) -> None:
        real(*arguments)
        if pipe.anonymizer.received == 500:
            pipe.stop()

    pipe._deliver = deliver  # type: ignore[method-assign]
    pipe.run()
    found = moments(tmp_path)
    assert file.trace and stat.S_IMODE((tmp_path / "trace.manifest.json").stat().st_mode) == 0o600
    hours_of = [int(moment[0] // 3600) for moment in found[:-1]]
    assert len(found) > 2 and len(hours_of) == len({*hours_of})
    assert [moment[1] for moment in found] == sorted(moment[1] for moment in found)


def rotated(folder: Path, records: int = 650, **more: Any) -> PipelineFile:
    file = place(folder, records, window=COUNT, **more)
    text = (folder / "pipeline.yaml").read_text().replace("trace: trace.jsonl", ROTATED)
    (folder / "pipeline.yaml").write_text(text)
    return PipelineFile.load(folder / "pipeline.yaml") if file else file


def parts(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted(folder.glob("trace-*.jsonl"))]


def test_the_trace_begins_a_new_file_after_so_many_lines(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    place(tmp_path / "whole", 650, window=COUNT)
    Small(tmp_path / "whole").run()
    rotated(tmp_path)
    Small(tmp_path).run()
    found = parts(tmp_path)
    assert [text.count("\n") for text in found] == [100] * 6 + [50]
    assert "".join(found) == (tmp_path / "whole" / "trace.jsonl").read_text()
    assert said(judged(tmp_path)) == {}


@pytest.mark.parametrize("what", ["_publish", "_deliver", "_save"])
def test_a_rotated_trace_over_crashes(tmp_path: Path, what: str) -> None:
    (tmp_path / "whole").mkdir()
    place(tmp_path / "whole", 650, window=COUNT)
    Small(tmp_path / "whole").run()
    rotated(tmp_path, checkpoint="1ms")
    for count in (3, 5, 2, 7, 4, 6, 9):
        pipe = Small(tmp_path)
        crashing_at(count, what)(pipe)
        try:
            pipe.run()
        except Crash:
            continue
        break
    Small(tmp_path).run()
    assert "".join(parts(tmp_path)) == (tmp_path / "whole" / "trace.jsonl").read_text()
    assert said(judged(tmp_path)) == {}


def piecewise(folder: Path, records: int, step: Callable[[int], None]) -> None:
    """Run a pipeline, stop it after each hundred records, and call `step`."""
    raw = lines(record(i) for i in range(records)).splitlines(keepends=True)
    for start in range(0, records, 100):
        with (folder / "raw.jsonl").open("a") as file:
            file.write("".join(raw[start : start + 100]))
        pipe = Pipe(PipelineFile.load(folder / "pipeline.yaml"))
        pipe._today = lambda start=start: 1000.0 + start * 36  # type: ignore[misc]
        real = pipe._deliver

        def deliver(*arguments: Any, pipe: Pipe = pipe, real: Any = real) -> None:
            real(*arguments)
            pipe.stop()

        pipe._deliver = deliver  # type: ignore[method-assign]
        pipe.run()
        step(start + 100)


def test_a_span_is_judged_although_the_traces_before_it_are_gone(tmp_path: Path) -> None:
    rotated(tmp_path, 0, follow=True)
    piecewise(tmp_path, 900, lambda count: None)
    for number in range(3):
        (tmp_path / f"trace-{number:06}.jsonl").unlink()
    since = 1000.0 + 500 * 36
    report = judged(tmp_path, since)
    assert said(report) == {}
    assert 0 < report["once"].figures["released"] < 600
    with pytest.raises(InputError):
        judged(tmp_path)
    shown = (tmp_path / "clean.jsonl").read_text().splitlines(keepends=True)
    begin = read_manifest(tmp_path / "trace.manifest.json", since).begin
    row = begin.sequence + 10
    shown[row] = shown[row].replace('"disease": "d', '"disease": "x')
    (tmp_path / "clean.jsonl").write_text("".join(shown))
    assert [text.split(", ")[0] for text in said(judged(tmp_path, since))["unaltered"]] == ["output row 11"]


def test_a_span_ends_where_it_is_asked_to(tmp_path: Path) -> None:
    rotated(tmp_path, 0, follow=True)
    piecewise(tmp_path, 600, lambda count: None)
    end = moments(tmp_path)[3]
    report = judged(tmp_path, until=end[0])
    assert said(report) == {} and report["once"].figures["accepted"] == end[1] == 300


def test_refusals(tmp_path: Path) -> None:
    path = tmp_path / "trace.manifest.json"
    with pytest.raises(InputError) as absent:
        read_manifest(path)
    assert str(absent.value) == f"{path}: does not exist; name the manifest that the pipeline writes beside its trace"
    path.write_text("[1]")
    with pytest.raises(InputError) as other:
        read_manifest(path)
    assert str(other.value) == f"{path}: is not a manifest; name the one that the pipeline writes beside its trace"
    stopped(place(tmp_path, 500, window=COUNT, follow=True))
    with pytest.raises(InputError) as early:
        read_manifest(path, until=1.0)
    assert str(early.value) == f"{path}: knows of no time before the end that is asked for; ask for a later one"
    with pytest.raises(InputError) as empty:
        read_manifest(path, since=4e9)
    assert str(empty.value) == (
        f"{path}: knows of nothing that left between these times; it keeps the newest moment, and one of each hour before, so "
        "choose a longer span"
    )
    files = (tmp_path / "policy.yaml", tmp_path / "raw.jsonl", tmp_path / "clean.jsonl")
    with pytest.raises(InputError) as untraced:
        audit(*files, span=read_manifest(path))
    assert str(untraced.value) == "the manifest: needs the trace too; name the one that the pipeline writes"
