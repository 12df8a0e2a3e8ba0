"""`shoal demo`: the main job on a generated stream."""

from __future__ import annotations

import shlex
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.failure import reported
from shoal.cli.options import PORT, Host, Open, Port, TokenFile, served

if TYPE_CHECKING:
    from rich.table import Table

    from shoal.policy import Policy

EXAMPLES = """
\b
Examples:
  shoal demo
  shoal demo wearables --tuples 1000000 --algorithm idea
  shoal demo --live --port 8080
"""

_TUPLES = 50_000
_SHOWN = 5  # tuples before and after


def demo(
    folder: Annotated[str, typer.Argument(help="The folder for policy, input and output.", metavar="FOLDER")] = "demo",
    tuples: Annotated[
        int | None, typer.Option(help="The length of the stream. Default: 50,000; with --live, endless.", min=1, metavar="N")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the generated stream.", min=0, metavar="N")] = 0,
    algorithm: Annotated[str, typer.Option(help="The algorithm.", metavar="NAME")] = "tide",
    live: Annotated[bool, typer.Option("--live", help="In real time, with a page to watch; no files.")] = False,
    port: Port = PORT,
    host: Host = "127.0.0.1",
    token_file: TokenFile = None,
    browser: Open = False,
) -> None:
    """Anonymize a generated stream of wearables, and show the result."""
    with reported():
        if live:
            _live(tuples, seed, algorithm, host, port, token_file, browser)
        else:
            _demo(folder, tuples or _TUPLES, seed, algorithm)


def _demo(folder: str, tuples: int, seed: int, algorithm: str) -> None:
    import shoal
    from shoal.cli.run_display import deadline, progress_bar, summary
    from shoal.cli.startup import prepare_kernels
    from shoal.cli.terminal import command, errors, output
    from shoal.demo import prepare
    from shoal.text import count

    console = output()
    console.print(f"\nGenerating {count(tuples)} tuples of wearables …")
    files = prepare(folder, tuples, seed=seed, algorithm=algorithm)
    policy = shoal.Policy.load(files.policy)
    prepare_kernels(policy, console.print)
    console.print(f"Anonymizing: each tuple leaves within {deadline(policy)} as one of {policy.privacy.k} persons …")
    with progress_bar(errors()) if sys.stderr.isatty() else nullcontext() as bar:
        start = perf_counter()
        stats = shoal.run(policy, files.source, files.target, trace=files.trace, on_progress=bar or (lambda progress: None))
        elapsed = perf_counter() - start
    assert policy.person and policy.time
    console.print("\nSome tuples before and after (→); · is missing, /· possibly missing:\n")
    gap = 2 if console.width >= 100 else 1
    console.print(_before_after(files.source, files.target, files.trace, policy.person, policy.time.field, gap))
    files.trace.unlink()
    console.print(summary(policy, stats, elapsed))
    console.print(
        "\nThe audit of this output is amber: every promise is kept, but persons come back, and an attacker who can link the "
        "releases of a person can intersect their groups. For the illness, stable: true prevents this; see docs/across.md.",
        markup=False,
    )
    shoal_ = command()
    parquet = files.target.with_suffix(".parquet")
    paths = (files.policy, files.source, parquet, files.trace)
    policy_, source, target, trace = (shlex.quote(str(path)) for path in paths)
    console.print(f"\nPolicy, input and output are in {folder}. Next, try\n", markup=False)
    for line in (
        f"{shoal_} check {policy_} {source}",
        f"{shoal_} run {policy_} {source} {target} --trace {trace}",
        f"{shoal_} audit {policy_} {source} {target} --trace {trace}",
        f"{shoal_} run {policy_} {source} - | head -3",
    ):
        console.print(f"  {line}", markup=False, soft_wrap=True, style="bold")
    console.print()


def _live(
    tuples: int | None, seed: int, algorithm: str, host: str, port: int, token_file: str | None, browser: bool
) -> None:  # fmt: skip
    """The generated stream in real time, with the page, until it ends or is interrupted."""
    from shoal.anonymizer import Anonymizer
    from shoal.cli.run_display import deadline
    from shoal.cli.startup import prepare_kernels
    from shoal.cli.terminal import output
    from shoal.demo import ENDLESS, EVERY, Shoal, live, policy_of
    from shoal.telemetry import Telemetry, keeping

    console = output()
    policy = policy_of(algorithm)
    prepare_kernels(policy, console.print)
    _rehearse(policy)
    about = {"pipeline": "shoal demo", "source": "a generated stream of wearables", "sink": "this page"}
    anonymizer, telemetry, shoal = Anonymizer(policy), Telemetry(policy, about=about, tick=EVERY), Shoal()
    with keeping(telemetry), served(telemetry, host, port, token_file, shoal=shoal.since) as address:
        console.print(f"Each tuple leaves within {deadline(policy)} as one of {policy.privacy.k} persons. Watch it at")
        console.print(f"  {address}", style="bold", soft_wrap=True)
        console.print("Interrupt it with Ctrl-C.")
        if browser:
            import webbrowser

            webbrowser.open(address)
        telemetry.started()
        try:
            for batch, now in live(tuples or ENDLESS, seed):
                shoal.came(batch)
                for step in (partial(anonymizer.push_batch, batch), partial(anonymizer.tick, now)):
                    published = step()
                    telemetry.after(anonymizer, published)
                    shoal.left(published, anonymizer.trace)
            telemetry.after(anonymizer, anonymizer.flush())
            telemetry.stopped("the stream has ended")
        except BaseException as error:
            telemetry.stopped("interrupted" if isinstance(error, KeyboardInterrupt | SystemExit) else "a fault of shoal")
            raise


def _rehearse(policy: Policy) -> None:
    """Run a short stream first, so that no tuple of the live one waits for a kernel to load."""
    from shoal.anonymizer import Anonymizer
    from shoal.demo import START, wearables

    anonymizer = Anonymizer(policy)
    for batch in wearables(4000):
        anonymizer.push_batch(batch)
    anonymizer.tick(START.astype(object).timestamp() + 60)
    anonymizer.flush()


def _before_after(source: Path, target: Path, trace: Path, person: str, time: str, gap: int) -> Table:
    """Some tuples as they came and, after an arrow, as they left; `person` and `time` are the names of these fields."""
    import json

    from rich.table import Table

    with trace.open("rb") as file:
        places = _evenly_spaced(sum(1 for _ in file), _SHOWN)
    after = _lines_at(target, places)
    rows = [json.loads(line)["row"] for line in _lines_at(trace, places)]
    before = dict(zip(sorted(rows), map(json.loads, _lines_at(source, sorted(rows))), strict=True))
    fields = list(before[rows[0]]) if rows else []
    table = Table(box=None, padding=(0, gap, 0, 0), pad_edge=False, header_style="bold")
    for field in fields:
        table.add_column(field, no_wrap=True)
    for row, line in zip(rows, after, strict=True):
        left = {person: "   →", **json.loads(line)}
        table.add_row(*(_cell(before[row][field], field == time) for field in fields))
        table.add_row(*(_cell(left.get(field), field == time) for field in fields), style="bold cyan")
        table.add_row()
    return table


def _evenly_spaced(count: int, shown: int) -> list[int]:
    """
    >>> _evenly_spaced(100, 4), _evenly_spaced(2, 4)
    ([12, 37, 62, 87], [0, 1])
    """
    shown = min(count, shown)
    return [(2 * i + 1) * count // (2 * shown) for i in range(shown)]


def _lines_at(path: Path, places: list[int]) -> list[str]:
    """The lines at these places, which are in ascending order."""
    from itertools import islice

    found: list[str] = []
    start = 0
    with path.open(encoding="utf-8") as file:
        for place in places:
            found += islice(file, place - start, place - start + 1)
            start = place + 1
    return found


def _cell(value: Any, is_time: bool) -> str:
    """
    >>> _cell([30, 40], False), _cell(None, False), _cell("2025-03-01T08:00:10Z", True)
    ('30-40', '·', '08:00:10')
    >>> _cell([30, 40, None], False), _cell(["sitting", None], False)
    ('30-40/·', 'sitting/·')
    """
    match value:
        case None:
            return "·"
        case [*certain, None]:
            return f"{_cell(certain if len(certain) > 1 else certain[0], is_time)}/·"
        case [low, high]:
            ends = [_cell(low, is_time), _cell(high, is_time)]
            return ends[0] if low == high else f"{ends[0]}-{ends[1][3:] if is_time else ends[1]}"
        case {"value": imputed}:
            return _cell(imputed, is_time)
        case str() if is_time:
            return value[11:19]
    return str(value)
