"""`shoal lab`: find a policy in the browser, on a sample of the data."""

from __future__ import annotations

from contextlib import suppress
from threading import Event, Thread
from typing import Annotated

import typer

from shoal.cli.failure import reported
from shoal.cli.options import PORT, Host, Open, Port, TokenFile

EXAMPLES = """
\b
Examples:
  shoal lab people.csv
  shoal lab people.parquet --save policy.yaml --open
  shoal lab --port 0
"""


@reported()
def lab(
    source: Annotated[str | None, typer.Argument(help="The file; without it, the page asks for one.", metavar="FILE")] = None,
    save: Annotated[str | None, typer.Option(help="Where the page may save the policy.", metavar="FILE")] = None,
    rows: Annotated[
        int, typer.Option(help="The number of rows to read, from the first.", min=1, max=200_000, metavar="N")
    ] = 20_000,
    port: Port = PORT,
    host: Host = "127.0.0.1",
    token_file: TokenFile = None,
    browser: Open = False,
) -> None:
    """Try policies in the browser: a page drafts, checks and tries them on a sample of FILE.

    The data stays on this machine. A file that you drop on the page is stored in a private folder until the lab closes.
    """
    from shoal.cli.terminal import output
    from shoal.extras import needs

    with needs("web", "the page"):
        from shoal.lab import Lab, Superseded
        from shoal.web import serve_lab, token_for

    console = output()
    with Lab(source, rows=rows, save=save) as bench, serve_lab(bench, host, port, token_for(host, token_file)) as address:
        console.print("The lab is open at")
        console.print(f"  {address}", style="bold", soft_wrap=True)
        console.print("Close it with Ctrl-C.")

        def warm() -> None:
            with suppress(Superseded):
                bench.warm()

        Thread(target=warm, daemon=True).start()
        if browser:
            import webbrowser

            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            Event().wait()
