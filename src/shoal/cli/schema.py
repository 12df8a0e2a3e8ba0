"""`shoal schema`: what a policy may say, for editors."""

from __future__ import annotations

import typer

from shoal.cli.failure import reported

EXAMPLES = """
\b
Examples:
  shoal schema > policy.schema.json
"""


@reported()
def schema() -> None:
    """Print the JSON schema of policies, with which editors complete and check them."""
    from shoal.policy import schema_text

    typer.echo(schema_text(), nl=False)
