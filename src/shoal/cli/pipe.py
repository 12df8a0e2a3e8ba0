"""`shoal pipe`: anonymize a live stream between a source and a sink."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from shoal.cli.failure import reported
from shoal.cli.options import Host, TokenFile, moment, served

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from shoal.pipeline import Pipe
    from shoal.telemetry import Telemetry

GRACE = 1.8  # seconds from a signal to the end; unfinished work is done again at the next start

EXAMPLES = """
\b
Examples:
  shoal pipe pipeline.yaml
  shoal pipe pipeline.yaml --check
  shoal pipe pipeline.yaml --drain
  shoal pipe pipeline.yaml --set-clock now
  shoal pipe pipeline.yaml --page
  shoal pipe pipeline.yaml --on spark://host:7077
"""


def pipe(
    pipeline: Annotated[str, typer.Argument(help="The pipeline, a YAML file.", metavar="PIPELINE", show_default=False)],
    check: Annotated[
        bool, typer.Option("--check", help="Say whether it can start (state, source, sink); change nothing.")
    ] = False,
    drain: Annotated[bool, typer.Option("--drain", help="Publish all records that wait, and end.")] = False,
    set_clock: Annotated[
        str | None,
        typer.Option(help="Set the stream's clock back, after wrong times moved it ahead: now, or ISO 8601.", metavar="TIME"),
    ] = None,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Continue without the lost part of the journal and its records.")
    ] = False,
    letters: Annotated[bool, typer.Option("--dead-letters", help="Decrypt and print the dead letters. Private.")] = False,
    page: Annotated[
        int | None, typer.Option(help="Serve a page to watch it; 8080 if no port is given.", min=0, max=65535, metavar="[PORT]")
    ] = None,
    host: Host = "127.0.0.1",
    token_file: TokenFile = None,
    on: Annotated[str | None, typer.Option("--on", help="Run it on Spark: spark://…, or local[2].", metavar="MASTER")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Report every checkpoint.")] = False,
) -> None:
    """Anonymize the live stream that PIPELINE describes. A restart continues where the pipeline stopped.

    SIGTERM or Ctrl-C stops it within two seconds. Records that wait are kept for the next start.
    """
    with reported(pipeline):
        if on is not None:
            given = {
                "--check": check, "--set-clock": set_clock, "--accept-loss": accept_loss, "--dead-letters": letters,
                "--page": page is not None, "--token-file": token_file, "--verbose": verbose,
            }  # fmt: skip
            _refuse_with_on([option for option, value in given.items() if value])
            _pipe_on(pipeline, on, drain)
        elif letters:
            _print_letters(pipeline)
        elif check:
            _check(pipeline)
        else:
            prepared = partial(_prepared, drain=drain, accept_loss=accept_loss, set_clock=moment("--set-clock", set_clock))
            _pipe(pipeline, prepared, verbose, None if page is None else (host, page), token_file)


def _prepared(pipe: Pipe, drain: bool, accept_loss: bool, set_clock: float | None) -> None:
    if drain:
        pipe.stop(drain=True)
    if accept_loss:
        pipe.accept_loss()
    if set_clock is not None:
        pipe.set_clock(set_clock)


def _pipe(
    path: str, prepare: Callable[[Pipe], None], verbose: bool, page: tuple[str, int] | None, token_file: str | None
) -> None:
    stopping = Stopping()
    from contextlib import ExitStack

    from shoal.cli.startup import prepare_kernels, save_memory

    save_memory()
    from shoal.cli.run_display import faults, outside, singled_out
    from shoal.cli.terminal import errors, say
    from shoal.pipeline import Pipe, PipelineFile

    console = errors()
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("shoal").setLevel(logging.DEBUG if verbose else logging.INFO)
    pipe = Pipe(PipelineFile.load(path))
    prepare_kernels(pipe.policy, partial(say, console))
    prepare(pipe)
    stopping.watch(pipe)
    with ExitStack() as stack:
        for host, port, bare in _places(pipe, page):
            if pipe.watcher is None:
                stack.enter_context(_watched(pipe, Path(path).name))
            address = stack.enter_context(served(cast("Telemetry", pipe.watcher), host, port, token_file, bare))
            logging.getLogger("shoal.pipe").info("%s at %s", "metrics" if bare else "the page is", address)
        stats = pipe.run()
    for line in (*faults(stats), *outside(pipe.policy, stats), *singled_out(pipe.policy, stats)):
        say(console, line)


def _places(pipe: Pipe, page: tuple[str, int] | None) -> Iterator[tuple[str, int, bool]]:
    """Where to serve the page, and the metrics alone."""
    if page:
        yield *page, False
    if pipe.file.telemetry:
        yield *pipe.file.telemetry.address, True


def _watched(pipe: Pipe, name: str) -> AbstractContextManager[None]:
    """Figures of the pipeline, which are kept in the folder of its state."""
    from shoal.pipeline import TICK
    from shoal.telemetry import Telemetry, keeping

    about = {"pipeline": name, **pipe.about()}
    telemetry = Telemetry(pipe.policy, about=about, links=pipe.links, tick=TICK, checkpoint=pipe.file.state.checkpoint)
    pipe.watcher = telemetry
    return keeping(telemetry, pipe.file.state.dir)


def _refuse_with_on(options: list[str]) -> None:
    from shoal.errors import InputError

    if options:
        page = "; Spark's own UI shows the query" if "--page" in options else ""
        raise InputError(
            f"{', '.join(options)}: {'are' if len(options) > 1 else 'is'} not supported with --on; leave it out{page}"
        )


def _pipe_on(path: str, master: str, drain: bool) -> None:
    try:
        from shoal.spark import pipe
    except ImportError:
        from shoal.errors import InputError

        raise InputError("--on: pyspark is not installed; pip install 'shoal-stream[spark]'") from None
    from shoal.pipeline import PipelineFile

    stopped = threading.Event()

    def stop_on_signals(query: Any) -> None:
        """In a thread of its own: the main thread waits for an answer of Spark, and cannot ask for something else."""

        def stop(number: int, frame: FrameType | None) -> None:
            stopped.set()
            threading.Thread(target=query.stop, daemon=True).start()

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, stop)
        if stopped.is_set():  # the query before it, of which a drain starts two
            query.stop()

    pipe.pipe(PipelineFile.load(path), master, stop_on_signals, drain)


class Stopping:
    """Ends the process after SIGTERM or SIGINT: at once during the start, else as soon as the pipeline has stopped.

    It raises nothing: what is raised while a module is imported, or a kernel compiled, may be lost.
    """

    def __init__(self) -> None:
        self._pipe: Pipe | None = None
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)

    def watch(self, pipe: Pipe) -> None:
        """The pipeline begins: from now on it is asked to stop."""
        self._pipe = pipe

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self._pipe is None:
            os._exit(128 + number)
        self._pipe.stop()
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
