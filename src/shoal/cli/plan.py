"""`shoal plan`: which z, for a stream like a sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.failure import reported

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.model import Plan

EXAMPLES = """
\b
Examples:
  shoal plan --data events.parquet --k 2 --confidence 0.95
  shoal plan --data visits.csv --person user --item site --window 15m,1h
  shoal plan --data events.parquet --json - --plot plan.png
"""

_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#555555")
_FONT = {"font.size": 11, "axes.titlesize": 11.5, "axes.spines.top": False, "axes.spines.right": False}


@reported()
def plan(
    data: Annotated[str, typer.Option(help="A sample of the stream, or - for JSON lines.", metavar="FILE")],
    k: Annotated[int, typer.Option(help="The number of users who must publish the same.", min=2)] = 2,
    confidence: Annotated[float, typer.Option(help="The share of users for whom this should hold.")] = 0.95,
    person: Annotated[str, typer.Option(help="The field of the user.", metavar="FIELD")] = "user",
    item: Annotated[
        str, typer.Option(help="The field of the item, or several, separated by commas.", metavar="FIELD")
    ] = "item",
    time: Annotated[str, typer.Option(help="The field of the time.", metavar="FIELD")] = "t",
    window: Annotated[
        str | None, typer.Option(help="The Δt to try, such as 15m,1h.", metavar="SPANS", show_default=False)
    ] = None,
    rows: Annotated[int, typer.Option(help="How many rows to read.", min=1, metavar="N")] = 5_000_000,
    json: Annotated[str | None, typer.Option(help="Write all figures, - for standard output.", metavar="FILE")] = None,
    plot: Annotated[str | None, typer.Option(help="Draw the curves, .png or .svg.", metavar="FILE")] = None,
) -> None:
    """Recommend a z and a window for z-anonymity, from a sample of the stream.

    For each Δt, it prints the smallest z with which users are k-anonymous, by the model and by a replay of the sample.
    docs/model.md explains the model.
    """
    from shoal import extras, model
    from shoal.cli.options import seconds
    from shoal.cli.terminal import errors, output, say, write
    from shoal.files import read_events

    if plot:
        extras.check_plot(plot)
    windows = [seconds("--window", text) for text in window.split(",")] if window else []
    items = [field.strip() for field in item.split(",")]
    events = read_events(data, person, items, time, rows)
    found = model.plan(events.time, events.user, events.item, k=k, confidence=confidence, windows=windows)
    if events.left_out:
        say(errors(), f"{data}: {events.left_out:,} rows without a user, an item or a time left out")
    _print(found, errors() if json == "-" else output())
    if json:
        write(json, _json(found))
    if plot:
        _draw(found, plot)


def _print(found: Plan, console: Console) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from shoal.cli.figures import span
    from shoal.cli.terminal import say
    from shoal.text import count, percent

    size = f"{count(found.observations)} observations, {count(found.users)} users, {count(found.items)} items"
    say(console, f"{size}, {span(found.span)}")
    chosen = next(window for window in found.windows if window.window == found.best.window)
    tables = [
        (f"Each Δt with its least z for {found.k}-anonymity at {percent(found.confidence)}", [w.best for w in found.windows]),
        (f"Δt {span(chosen.window)}, by z", chosen.rows),
    ]
    users = {window.window: window.users for window in found.windows}
    for title, rows in tables:
        grid = Table(
            title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False, header_style=""
        )
        for name in ("Δt", "users", "z", "model", "sample", "entropy", "kept", "silent"):
            grid.add_column(name, justify="right", no_wrap=True)
        for row in rows:
            shares = (row.probability, row.measured, row.information, row.kept, row.silent)
            cells = [span(row.window), count(users[row.window]), count(row.z), *map(percent, shares)]
            grid.add_row(*cells, style="bold" if row == found.best else "" if row.meets(found.confidence) else "dim")
        console.print()
        console.print(grid)
    say(console, _advice(found), "bold green" if found.met else "bold red")


def _advice(found: Plan) -> str:
    from shoal.cli.figures import span
    from shoal.text import percent

    best = found.best
    if not found.met:
        return (
            f"no Δt and z make {percent(found.confidence)} of the users {found.k}-anonymous: too few are there at a time; "
            "use longer windows, or a larger sample"
        )
    setting = f"algorithm: {{name: zanon, z: {best.z}, window: {span(best.window)}}}"
    outcome = f"{percent(best.measured)} of the users {found.k}-anonymous, {percent(best.kept)} of the observations kept"
    return f"{setting}: {outcome}"


def _json(found: Plan) -> str:
    from dataclasses import asdict
    from json import dumps

    plain = asdict(found)
    for window in [*plain["windows"], plain]:
        window["best"] = window["best"]._asdict()
        window["rows"] = [row._asdict() for row in window.get("rows", [])]
    del plain["rows"]
    return dumps(plain, indent=2)


def _draw(found: Plan, path: str) -> None:
    """Draw k-anonymity, and what is kept, against z: one curve for each Δt."""
    from shoal import extras
    from shoal.cli.figures import span
    from shoal.errors import InputError
    from shoal.text import count

    pyplot = extras.pyplot()
    with pyplot.rc_context(_FONT):
        figure, (anonymous, kept) = pyplot.subplots(1, 2, figsize=(12, 4.6), layout="constrained", sharex=True)
        try:
            for i, window in enumerate(found.windows):
                colour = _COLOURS[i % len(_COLOURS)]
                z = [row.z for row in window.rows]
                label = f"Δt {span(window.window)}, {count(window.users)} users"
                anonymous.plot(z, [row.probability for row in window.rows], color=colour, label=label)
                anonymous.plot(z, [row.measured for row in window.rows], color=colour, linestyle=":")
                anonymous.plot(window.best.z, window.best.measured, "o", color=colour)
                kept.plot(z, [row.information for row in window.rows], color=colour)
                kept.plot(z, [row.kept for row in window.rows], color=colour, linestyle=":")
            anonymous.axhline(found.confidence, color="#999999", linewidth=0.8)
            anonymous.set_title(f"users who are {found.k}-anonymous: model, and sample (dotted)", loc="left")
            kept.set_title("what is kept: entropy, and observations (dotted)", loc="left")
            for axes in (anonymous, kept):
                axes.set_xscale("log")
                axes.set_xlabel("z")
                axes.grid(alpha=0.3)
            figure.legend(loc="outside lower center", ncols=4, frameon=False)
            figure.savefig(path, dpi=130)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({(error.strerror or 'no access').lower()})") from None
        finally:
            pyplot.close(figure)
