"""The live page, as commands offer it."""

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
    """Serve the page, or its bare metrics, while the body runs, and give its address.

    Raises
    ------
    InputError
        What it needs is not installed, there is no token where one is needed, or the port is taken.
    """
    with needed():
        from shoal.web import serve
        from shoal.web.gate import token_for
    with serve(telemetry, host, port, token_for(host, token_file), bare=bare) as address:
        yield address


@contextmanager
def needed() -> Iterator[None]:
    """Say what has to be installed if it is not."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(f"the page: needs {error.name}, which is not installed; pip install 'shoal[web]'") from None


class Paged(TyperCommand):
    """A command whose `--page` may come without a port."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_port(args))


def with_port(arguments: Sequence[str]) -> list[str]:
    """
    >>> with_port(["a.yaml", "--page"]), with_port(["--page", "a.yaml"]), with_port(["--page", "9000", "a.yaml"])
    (['a.yaml', '--page', '8080'], ['--page', '8080', 'a.yaml'], ['--page', '9000', 'a.yaml'])
    """
    told: list[str] = []
    for argument, after in zip(arguments, [*arguments[1:], ""], strict=True):
        told += [argument, str(PORT)] if argument == "--page" and not after.isdecimal() else [argument]
    return told
