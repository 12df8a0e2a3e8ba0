"""The live page, as commands offer it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.pipeline.telemetry import Telemetry


@contextmanager
def served(telemetry: Telemetry, host: str, port: int, token_file: str | None) -> Iterator[str]:
    """Serve the page while the body runs, and give its address.

    Raises:
        InputError: what it needs is not installed, there is no token where one is needed, or the port is taken.
    """
    try:
        from shoal.web import serve
        from shoal.web.gate import token_for
    except ModuleNotFoundError as error:
        raise InputError(f"the page: needs {error.name}, which is not installed; pip install 'shoal[web]'") from None
    with serve(telemetry, host, port, token_for(host, token_file)) as address:
        yield address
