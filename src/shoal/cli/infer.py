"""`shoal infer`: a policy drafted from data."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.failure import reported

EXAMPLES = """
\b
Examples:
  shoal infer people.csv > policy.yaml
  gunzip -c people.jsonl.gz | shoal infer - --rows 50000 > policy.yaml
"""


def infer(
    source: Annotated[str, typer.Argument(help="The file to read, or - for JSON lines.", metavar="INPUT")],
    rows: Annotated[int, typer.Option(help="How many rows of INPUT to look at.", min=1, metavar="N")] = 10_000,
) -> None:
    """Draft a policy from the first rows of INPUT.

    The draft publishes only what is clearly a quasi-identifier; comments say what to decide. It holds no extreme of the
    data and no rare value.
    """
    with reported():
        from shoal.infer import draft

        typer.echo(draft(source, rows), nl=False)
