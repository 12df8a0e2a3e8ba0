"""Options that several commands share: those of the live page, and durations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.telemetry import Telemetry

PORT = 8080

Port = Annotated[int, typer.Option(help="Of the page; 0 is any that is free.", min=0, max=65535, metavar="N")]
Host = Annotated[str, typer.Option(help="Of the page; not loopback: with a token.", metavar="ADDRESS")]
TokenFile = Annotated[str | None, typer.Option(help="Holds the page's token; else SHOAL_TOKEN.", metavar="FILE")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]


@contextmanager
def served(telemetry: Telemetry, host: str, port: int, token_file: str | None, bare: bool = False) -> Iterator[str]:
    """Serve the page, or only its metrics, while the body runs; yields its address."""
    from shoal.extras import needs

    with needs("web", "the page"):
        from shoal.web import serve, token_for
    with serve(telemetry, host, port, token_for(host, token_file), bare=bare) as address:
        yield address


class Paged(TyperCommand):
    """A command whose `--page` may come without a port."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_port(args))


def with_port(arguments: Sequence[str]) -> list[str]:
    """
    >>> with_port(["a.yaml", "--page"]), with_port(["--page", "a.yaml"]), with_port(["--page", "9000", "a.yaml"])
    (['a.yaml', '--page', '8080'], ['--page', '8080', 'a.yaml'], ['--page', '9000', 'a.yaml'])
    """
    found: list[str] = []
    for argument, after in zip(arguments, [*arguments[1:], ""], strict=True):
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
