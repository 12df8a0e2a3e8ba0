"""`shoal check`: a policy, and a sample of data, before a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.failure import REFUSED, reported

if TYPE_CHECKING:
    from shoal.checks import Findings

EXAMPLES = """
\b
Examples:
  shoal check policy.yaml
  shoal check policy.yaml people.csv --rows 100000
  shoal check policy.yaml people.csv --json
"""


def check(
    policy: Annotated[str, typer.Argument(help="The policy, a YAML file.", metavar="POLICY")],
    source: Annotated[str | None, typer.Argument(help="Data to check against it.", metavar="INPUT")] = None,
    rows: Annotated[int, typer.Option(help="How many rows of INPUT to look at.", min=1, metavar="N")] = 10_000,
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check POLICY, and the first rows of INPUT against it.

    Lists all problems at once, and warns of risks. Status 0 without problems, 2 with.
    """
    with reported(policy):
        from shoal.checks import check as checked

        findings = checked(policy, source, rows=rows)
        if json:
            typer.echo(_as_json(findings, policy, source))
        else:
            _show(findings, policy, source)
    if not findings.ok:
        raise typer.Exit(REFUSED)


def _as_json(findings: Findings, policy: str, source: str | None) -> str:
    from dataclasses import asdict
    from json import dumps

    return dumps({"policy": policy, "input": source, "ok": findings.ok, **asdict(findings)}, indent=2, ensure_ascii=False)


def _show(findings: Findings, policy: str, source: str | None) -> None:
    from shoal.cli.terminal import output, say

    console = output()
    lines = [("problem", "bold red", " ".join(line.splitlines())) for line in findings.problems]
    lines += [("warning", "yellow", " ".join(line.splitlines())) for line in findings.warnings]
    if console.is_terminal and lines:
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 1))
        for kind, style, line in lines:
            table.add_row(Text(f"{kind}:", style), Text(line))
        console.print(table)
    elif lines:
        for kind, _, line in lines:
            say(console, f"{kind}: {line}")
    counts = f"{_number(len(findings.problems), 'problem')}, {_number(len(findings.warnings), 'warning')}"
    say(console, f"{policy}{_sample(findings, source)}: {counts}", "bold green" if findings.ok else "bold red")


def _sample(findings: Findings, source: str | None) -> str:
    if source is None or findings.rows is None:
        return ""
    return f" with {'all' if findings.complete else 'the first'} {findings.rows:,} rows of {source}"


def _number(count: int, noun: str) -> str:
    return f"{count or 'no'} {noun}{'' if count == 1 else 's'}"
