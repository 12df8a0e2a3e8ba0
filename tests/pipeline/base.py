"""A pipeline from file to file, in a process that can be killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any

from shoal.pipeline import Pipe, PipelineFile

KEY = "a key of at least thirty-two bytes, for tests"
POLICY = """
person: pid
time: {{field: t}}
attributes:
  age:     {{quasi: numeric, range: [0, 100], grid: 5}}
  city:    {{quasi: categorical, hierarchy: {{World: {{France: [Paris, Lyon], Norway: [Oslo]}}}}}}
  disease: {{sensitive: true}}
privacy: {{k: 3}}
window: {window}
algorithm: {{name: fads}}
"""
PIPELINE = """
policy: policy.yaml
source: {{file: {{path: raw.jsonl, follow: {follow}}}}}
sink: {{file: {{path: clean.jsonl}}}}
state: {{dir: state, checkpoint: {checkpoint}, key: {{env: SHOAL_KEY}}}}
trace: trace.jsonl
{more}
"""


def record(number: int, moment: float | None = None, **changes: Any) -> dict[str, Any]:
    city = ("Paris", "Lyon", "Oslo", None)[number * 7 % 4]
    moment = number / 10 if moment is None else moment
    return {"pid": number % 41, "t": moment, "age": number * 7 % 100, "city": city, "disease": f"d{number % 3}", **changes}


def lines(records: Iterable[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(each)}\n" for each in records)


def place(
    folder: Path, records: int = 0, *, window: str = "{time: 3s}", follow: bool = False, checkpoint: str = "10s", more: str = ""
) -> PipelineFile:
    """The files of a pipeline; its file as it was read."""
    os.environ["SHOAL_KEY"] = KEY
    (folder / "policy.yaml").write_text(POLICY.format(window=window))
    text = PIPELINE.format(follow=str(follow).lower(), checkpoint=checkpoint, more=more)
    (folder / "pipeline.yaml").write_text(text)
    (folder / "raw.jsonl").write_text(lines(record(i) for i in range(records)))
    return PipelineFile.load(folder / "pipeline.yaml")


def outputs(folder: Path) -> tuple[bytes, bytes]:
    return (folder / "clean.jsonl").read_bytes(), (folder / "trace.jsonl").read_bytes()


class Crash(BaseException):
    """A crash: nothing that comes after it is done."""


def crashing_at(count: int, what: str) -> Callable[[Pipe], None]:
    """Make a pipe crash when it does something for the so-many-th time, before it is done."""

    def arm(pipe: Pipe) -> None:
        real, left = getattr(pipe, what), [count]

        def called(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Crash
            return real(*arguments, **named)

        setattr(pipe, what, called)

    return arm


_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["shoal.pipeline.pipe", "shoal.anonymizer.windowed"])


def _run(path: str, drain: bool, environment: Mapping[str, str] = MappingProxyType({})) -> None:
    os.environ.update({"SHOAL_KEY": KEY, **environment})
    pipe = Pipe(PipelineFile.load(path))
    signal.signal(signal.SIGTERM, lambda number, frame: pipe.stop())
    if drain:
        pipe.stop(drain=True)
    pipe.run()


def start(path: Path, drain: bool = False, environment: Mapping[str, str] = MappingProxyType({})) -> BaseProcess:
    """A pipeline in a process of its own, with some more variables in its environment."""
    process = _FORKS.Process(target=_run, args=(str(path), drain, dict(environment)), daemon=True)
    process.start()
    return process


def kill(process: BaseProcess) -> None:
    if process.pid and process.is_alive():
        os.kill(process.pid, signal.SIGKILL)
    process.join()


def wait_until(condition: Callable[[], bool], seconds: float = 240) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it took too long"
        time.sleep(0.01)
