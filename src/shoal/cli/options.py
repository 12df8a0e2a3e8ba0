"""Options that several commands share: those of the live page, durations and times."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.telemetry import Telemetry

PORT = 8080

Port = Annotated[int, typer.Option(help="The port of the page; 0 takes any free port.", min=0, max=65535, metavar="N")]
Host = Annotated[str, typer.Option(help="The address of the page. Any other than loopback needs a token.", metavar="ADDRESS")]
TokenFile = Annotated[str | None, typer.Option(help="A file with the page's token; default: SHOAL_TOKEN.", metavar="FILE")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]


@contextmanager
def served(
    telemetry: Telemetry, host: str, port: int, token_file: str | None, bare: bool = False, shoal: Any = None
) -> Iterator[str]:
    """Serve the page, or only its metrics, while the body runs; yields its address. `shoal` shows generated records."""
    from shoal.extras import needs

    with needs("web", "the page"):
        from shoal.web import serve, token_for
    with serve(telemetry, host, port, token_for(host, token_file), bare=bare, shoal=shoal) as address:
        yield address


class Paged(TyperCommand):
    """A command whose `--page` may come without a port."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_port(args))


def with_port(arguments: Sequence[str]) -> list[str]:
    """
    >>> with_port(["a.yaml", "--page"]), with_port(["--page", "a.yaml"]), with_port(["--page", "9000", "a.yaml"])
    (['a.yaml', '--page', '8080'], ['--page', '8080', 'a.yaml'], ['--page', '9000', 'a.yaml'])
    >>> with_port([])
    []
    """
    found: list[str] = []
    for argument, after in zip(arguments, [*arguments[1:], ""], strict=False):
        found += [argument, str(PORT)] if argument == "--page" and not after.isdecimal() else [argument]
    return found


def seconds(option: str, text: str) -> float:
    """
    >>> seconds("--late", "5m")
    300.0
    """
    from pydantic_core import PydanticCustomError

    from shoal.config import span

    try:
        return float(span(text))
    except PydanticCustomError:
        raise InputError(f"{option}: not a duration; write it like 30s, 5m, 2h, 1d") from None


def moment(option: str, text: str | None) -> float | None:
    """A time of the command line, in seconds since 1970.

    >>> moment("--since", "1970-01-01T00:01:00Z")
    60.0
    """
    if text is None or text == "now":
        return None if text is None else time.time()
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{option}: is not a time; write now, or a time such as 2026-01-31T12:00:00Z") from None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
