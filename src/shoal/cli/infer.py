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
  shoal infer --schema people.avsc > policy.yaml
  shoal infer --from-arx project.deid --hierarchies . > policy.yaml
"""


def infer(
    source: Annotated[str | None, typer.Argument(help="The file to read, or - for JSON lines.", metavar="INPUT")] = None,
    rows: Annotated[int, typer.Option(help="How many rows of INPUT to look at.", min=1, metavar="N")] = 10_000,
    arx: Annotated[str | None, typer.Option("--from-arx", help="A project of ARX, instead of INPUT.", metavar="FILE")] = None,
    schema: Annotated[
        str | None,
        typer.Option(help="A schema instead of INPUT: .avsc (Avro), .json (JSON Schema) or .proto.", metavar="FILE"),
    ] = None,
    sheet: Annotated[str, typer.Option(help="The sheet of a workbook; default the first.", metavar="NAME")] = "",
    folder: Annotated[
        str | None, typer.Option("--hierarchies", help="Where to write the project's hierarchies.", metavar="FOLDER")
    ] = None,
) -> None:
    """Draft a policy from the first rows of INPUT, from a schema, or from the settings of an ARX project.

    The draft publishes only what is clearly a quasi-identifier; comments say what to decide. It holds no extreme of the
    data and no rare value.
    """
    with reported():
        from shoal.cli.terminal import errors, say
        from shoal.errors import InputError
        from shoal.formats import detected
        from shoal.infer import from_arx, from_schema, study, written

        if schema is not None and source is None and arx is None and folder is None:
            typer.echo(from_schema(schema), nl=False)
        elif arx is not None and source is None and schema is None:
            typer.echo(from_arx(arx, folder), nl=False)
        elif source is not None and arx is None and folder is None and schema is None:
            seen = study(source, rows, detected(source, sheet=sheet))
            if str(seen.sample.written):
                say(errors(), f"{source}: {seen.sample.written}")
            typer.echo(written(source, seen), nl=False)
        else:
            raise InputError("infer: give INPUT, --schema FILE, or --from-arx FILE with or without --hierarchies; not several")
