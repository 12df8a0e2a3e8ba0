"""`shoal blocks`: blocks of a stable attribute, drafted from a sample."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.failure import reported

EXAMPLES = """
\b
Examples:
  shoal blocks visits.csv diagnosis --person patient
  shoal blocks visits.csv diagnosis --person patient --least 4 --most 40%
  shoal blocks visits.csv diagnosis --hierarchy icd.csv
  shoal blocks policy.yaml diagnosis
"""


def blocks(
    source: Annotated[
        str, typer.Argument(help="A sample, or a policy with a distribution.", metavar="INPUT", show_default=False)
    ],
    field: Annotated[str, typer.Argument(help="The stable attribute.", metavar="FIELD", show_default=False)],
    least: Annotated[int, typer.Option(help="The smallest number of values in a block.", min=2, metavar="M")] = 3,
    most: Annotated[
        str, typer.Option(help="The largest share of its block that a value should have.", metavar="SHARE")
    ] = "50%",
    person: Annotated[
        str | None, typer.Option(help="The field of persons; each counts once.", metavar="FIELD", show_default=False)
    ] = None,
    hierarchy: Annotated[
        str | None,
        typer.Option(help="A hierarchy: values of similar meaning share a block.", metavar="FILE", show_default=False),
    ] = None,
) -> None:
    """Draft blocks of the values of FIELD, for `as: block`.

    Copy the draft into the policy once. Do not change the blocks later: an old and a new block together can reveal a value.
    The draft leaves out values that fewer than five persons have.
    """
    with reported():
        from pathlib import Path

        from shoal.cli.run import share_of
        from shoal.cli.terminal import errors, say
        from shoal.errors import InputError
        from shoal.infer import block_entry, draft_blocks, shares_of
        from shoal.policy import parse_file
        from shoal.text import counted, percent

        tree = None
        if hierarchy is not None:
            try:
                tree = parse_file(Path(hierarchy).read_bytes(), hierarchy)
            except OSError:
                raise InputError(f"{hierarchy}: cannot be read; check that it is a file and its permissions") from None
        shares, rare = shares_of(source, field, person)
        top = share_of(most, "--most")
        found = draft_blocks(shares, least, top, tree, rare)
        typer.echo("\n".join(block_entry(field, found)))
        parts = [
            f"{counted(len(found.blocks), 'block')} of at least {min(map(len, found.blocks))} values",
            f"{percent(found.kept)} of the information is kept",
            f"the most frequent value of a block is right in {percent(found.guess)}",
            f"the largest share of a block is {percent(found.largest)}",
        ]
        if rare:
            few = f", fewer than {least} and so hardly hidden: add such values to a block by hand" if rare < least else ""
            parts.append(f"{counted(rare, 'rare value')} left out, and published as unlisted{few}")
        if len(found.blocks) == 1:
            why = f"a --most above {percent(found.largest)} cuts more" if found.largest > top else "a lower --least cuts more"
            parts.append(f"one block shows nothing of a value: {why}, or use as: bag")
        say(errors(), "; ".join(parts))
