"""`shoal pipe`: anonymize a live stream between a source and a sink."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.failure import reported
from shoal.cli.options import Host, TokenFile, served

if TYPE_CHECKING:
    from shoal.pipeline import Pipe
    from shoal.telemetry import Telemetry

GRACE = 1.8  # seconds from a signal to the end; unfinished work is done again at the next start

EXAMPLES = """
\b
Examples:
  shoal pipe pipeline.yaml
  shoal pipe pipeline.yaml --check
  shoal pipe pipeline.yaml --drain
  shoal pipe pipeline.yaml --page
  shoal pipe pipeline.yaml --on spark://host:7077
"""


def pipe(
    pipeline: Annotated[str, typer.Argument(help="The pipeline, a YAML file.", metavar="PIPELINE", show_default=False)],
    check: Annotated[bool, typer.Option("--check", help="Only say whether it could start: state, source, sink.")] = False,
    drain: Annotated[bool, typer.Option("--drain", help="Publish everything that is held, and end.")] = False,
    letters: Annotated[bool, typer.Option("--dead-letters", help="Print the encrypted dead letters. Private.")] = False,
    page: Annotated[
        int | None, typer.Option(help="Serve a page to watch it; 8080 if no port is given.", min=0, max=65535, metavar="[PORT]")
    ] = None,
    host: Host = "127.0.0.1",
    token_file: TokenFile = None,
    on: Annotated[str | None, typer.Option("--on", help="Run it on Spark: spark://…, or local[2].", metavar="MASTER")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell of every checkpoint.")] = False,
) -> None:
    """Anonymize the live stream that PIPELINE describes, from where it stopped.

    SIGTERM, or Ctrl-C, stops it within two seconds: what waits is kept for the next start.
    """
    with reported(pipeline):
        if letters:
            _print_letters(pipeline)
        elif check:
            _check(pipeline)
        elif on is not None:
            _pipe_on(pipeline, on)
        else:
            _pipe(pipeline, drain, verbose, None if page is None else (host, page), token_file)


def _pipe(path: str, drain: bool, verbose: bool, page: tuple[str, int] | None, token_file: str | None) -> None:
    from contextlib import ExitStack
    from functools import partial

    from shoal.cli.run_display import faults
    from shoal.cli.startup import prepare_kernels, save_memory
    from shoal.cli.terminal import errors, say
    from shoal.pipeline import Pipe, PipelineFile

    save_memory()
    console = errors()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("shoal").setLevel(logging.DEBUG if verbose else logging.INFO)
    pipe = Pipe(PipelineFile.load(path))
    prepare_kernels(pipe.policy, partial(say, console))
    if drain:
        pipe.stop(drain=True)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, partial(_stop, pipe))
    with ExitStack() as stack:
        for host, port, bare in _places(pipe, page):
            address = stack.enter_context(served(_watched(pipe), host, port, token_file, bare))
            logging.getLogger("shoal.pipe").info("%s at %s", "metrics" if bare else "the page is", address)
        stats = pipe.run()
    for fault in faults(stats):
        say(console, fault)


def _places(pipe: Pipe, page: tuple[str, int] | None) -> Iterator[tuple[str, int, bool]]:
    """Where to serve the page, and the metrics alone."""
    if page:
        yield *page, False
    if pipe.file.telemetry:
        yield *pipe.file.telemetry.address, True


def _watched(pipe: Pipe) -> Telemetry:
    from shoal.telemetry import Telemetry

    if not isinstance(pipe.watcher, Telemetry):
        pipe.watcher = Telemetry(pipe.policy)
    return pipe.watcher


def _pipe_on(path: str, master: str) -> None:
    try:
        from shoal.spark import pipe
    except ImportError:
        from shoal.errors import InputError

        raise InputError("--on: pyspark is not installed; pip install 'shoal[spark]'") from None
    from shoal.pipeline import PipelineFile

    def stop_on_signals(query: Any) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, frame: query.stop())

    pipe.pipe(PipelineFile.load(path), master, stop_on_signals)


def _stop(pipe: Pipe, number: int, frame: FrameType | None) -> None:
    pipe.stop()
    timer = threading.Timer(GRACE, os._exit, [128 + number])
    timer.daemon = True
    timer.start()


def _check(path: str) -> None:
    from shoal.pipeline import PipelineFile, readiness

    for line in readiness(PipelineFile.load(path)):
        typer.echo(line)


def _print_letters(path: str) -> None:
    from shoal.errors import PolicyError
    from shoal.formats import dumps
    from shoal.pipeline import PipelineFile, read_dead_letters

    settings = PipelineFile.load(path).dead_letters
    if settings is None or settings.encrypt is None:
        raise PolicyError(["dead_letters.encrypt: is not there, so no records were kept"])
    for letter in read_dead_letters(settings.file, settings.encrypt.read()):
        typer.echo(dumps(letter))
