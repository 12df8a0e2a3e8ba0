"""`shoal datasets`: public data sets, from the original downloads."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.failure import reported

EXAMPLES = """
\b
Examples:
  shoal datasets list
  shoal datasets prepare adult adult.zip --data data
  shoal datasets prepare nafld nafld1.csv nafld2.csv --data data
  shoal datasets prepare pm25 BeijingPM20100101_20151231.csv --data data
"""

app = typer.Typer(
    name="datasets",
    help="Prepare public data sets from their downloads.",
    no_args_is_help=True,
    rich_markup_mode=None,
    epilog=EXAMPLES,
)


@app.command("list", epilog="\b\nExamples:\n  shoal datasets list\n")
@reported()
def list_datasets() -> None:
    """List the data sets: source, licence, files with SHA-256; and the commands for files that have to be exported first."""
    from shoal.cli.terminal import output, say
    from shoal.datasets import ORIGINALS

    for name, original in ORIGINALS.items():
        say(output(), f"{name}: {original.title}, {original.licence}, {original.page}")
        if original.command:
            say(output(), f"  {original.command}")
        for file, digest in original.files.items():
            say(output(), f"  {digest}  {file}")


@app.command(epilog="\b\nExamples:\n  shoal datasets prepare adult adult.data adult.test --data data\n")
@reported()
def prepare(
    name: Annotated[str, typer.Argument(help="adult, informs, pm25, nafld or star.", metavar="NAME")],
    files: Annotated[list[str], typer.Argument(help="The downloads: plain, .gz or .zip.", metavar="FILE")],
    data: Annotated[str, typer.Option(help="The folder of all data.", metavar="DIR")] = "data",
    accept: Annotated[bool, typer.Option("--accept", help="Also accept files with another SHA-256.")] = False,
) -> None:
    """Check the downloads of a data set, and store them with their hierarchies where shoal looks for them."""
    from pathlib import Path

    from shoal.cli.terminal import output, say
    from shoal.datasets import prepare as prepared

    for each in prepared(name, files, Path(data), accept=accept):
        remark = "" if each.known else " (not the file that the figures of shoal were made from)"
        say(output(), f"{each.file}: SHA-256 {each.sha256}{remark}")
    say(output(), f"{name} is in {Path(data)}; name that folder by --data or SHOAL_DATA")
