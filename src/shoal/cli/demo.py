"""`shoal demo`: the main job on a generated stream."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from time import perf_counter
from typing import Annotated

import typer

from shoal.cli.failure import reported
from shoal.cli.page import PORT, Host, Open, Port, TokenFile

EXAMPLES = """
\b
Examples:
  shoal demo
  shoal demo wearables --tuples 1000000 --algorithm idea
  shoal demo --live --port 8080
"""

_TUPLES = 200_000


def demo(
    folder: Annotated[str, typer.Argument(help="Where to leave policy, input and output.", metavar="FOLDER")] = "demo",
    tuples: Annotated[
        int | None, typer.Option(help="The length of the stream: 200,000; live without end.", min=1, metavar="N")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, another stream.", min=0, metavar="N")] = 0,
    algorithm: Annotated[str, typer.Option(help="The algorithm.", metavar="NAME")] = "tide",
    live: Annotated[bool, typer.Option("--live", help="In real time, with a page to watch; no files.")] = False,
    port: Port = PORT,
    host: Host = "127.0.0.1",
    token_file: TokenFile = None,
    browser: Open = False,
) -> None:
    """Anonymize a generated stream of wearables, and show what became of it."""
    with reported():
        if live:
            from shoal.cli.live import live as watch

            watch(tuples, seed, algorithm, host, port, token_file, browser)
        else:
            _demo(folder, tuples or _TUPLES, seed, algorithm)


def _demo(folder: str, tuples: int, seed: int, algorithm: str) -> None:
    import shoal
    from shoal.cli.before_after import before_after
    from shoal.cli.figures import count
    from shoal.cli.kernels import prepare as ready
    from shoal.cli.progress import shown
    from shoal.cli.summary import deadline, summary
    from shoal.cli.terminal import command, errors, output
    from shoal.demo import prepare

    console = output()
    console.print(f"\nGenerating {count(tuples)} tuples of wearables …")
    files = prepare(folder, tuples, seed=seed, algorithm=algorithm)
    policy = shoal.Policy.load(files.policy)
    ready(policy, console.print)
    console.print(f"Anonymizing: each tuple leaves within {deadline(policy)} as one of {policy.privacy.k} persons …")
    with shown(errors()) if sys.stderr.isatty() else nullcontext() as bar:
        start = perf_counter()
        stats = shoal.run(policy, files.source, files.target, trace=files.trace, on_progress=bar or (lambda progress: None))
        elapsed = perf_counter() - start
    assert policy.person and policy.time
    console.print("\nA few tuples as they came, and as they left (→):\n")
    gap = 2 if console.width >= 100 else 1
    console.print(before_after(files.source, files.target, files.trace, policy.person, policy.time.field, gap))
    files.trace.unlink()
    console.print(summary(policy, stats, elapsed))
    shoal_ = command()
    parquet = files.target.with_suffix(".parquet")
    paths = (files.policy, files.source, parquet, files.trace)
    policy_, source, target, trace = (shlex.quote(str(path)) for path in paths)
    console.print(f"\nPolicy, input and output lie in {folder}. Go on with\n", markup=False)
    for line in (
        f"{shoal_} check {policy_} {source}",
        f"{shoal_} run {policy_} {source} {target} --trace {trace}",
        f"{shoal_} audit {policy_} {source} {target} --trace {trace}",
        f"{shoal_} run {policy_} {source} - | head -3",
    ):
        console.print(f"  {line}", markup=False, soft_wrap=True, style="bold")
    console.print()
