"""`shoal demo --live`: the generated stream in real time, and the page beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.policy import Policy


def live(
    tuples: int | None, seed: int, algorithm: str, host: str, port: int, token_file: str | None, browser: bool
) -> None:  # fmt: skip
    """Run until the stream ends or someone interrupts it."""
    from shoal.anonymizer import Anonymizer
    from shoal.cli.kernels import prepare as ready
    from shoal.cli.page import served
    from shoal.cli.summary import deadline
    from shoal.cli.terminal import output
    from shoal.demo import live as steps
    from shoal.demo import policy_of
    from shoal.demo.live import ENDLESS
    from shoal.telemetry import Telemetry

    console = output()
    policy = policy_of(algorithm)
    ready(policy, console.print)
    _rehearse(policy)
    anonymizer, telemetry = Anonymizer(policy), Telemetry(policy)
    with served(telemetry, host, port, token_file) as address:
        console.print(f"Each tuple leaves within {deadline(policy)} as one of {policy.privacy.k} persons. Watch it at")
        console.print(f"  {address}", style="bold", soft_wrap=True)
        console.print("Interrupt it with Ctrl-C.")
        if browser:
            import webbrowser

            webbrowser.open(address)
        try:
            for batch, now in steps(tuples or ENDLESS, seed):
                telemetry.after(anonymizer, anonymizer.push_batch(batch))
                telemetry.after(anonymizer, anonymizer.tick(now))
            telemetry.after(anonymizer, anonymizer.flush())
            telemetry.stopped("the stream has ended")
        except BaseException as error:
            telemetry.stopped("interrupted" if isinstance(error, KeyboardInterrupt | SystemExit) else "a fault of shoal")
            raise


def _rehearse(policy: Policy) -> None:
    """Run a little of the stream at once, so that no tuple of the real one waits for a kernel to be loaded."""
    from shoal.anonymizer import Anonymizer
    from shoal.demo import wearables
    from shoal.demo.wearables import START

    anonymizer = Anonymizer(policy)
    for batch in wearables(4000):
        anonymizer.push_batch(batch)
    anonymizer.tick(START.astype(object).timestamp() + 60)
    anonymizer.flush()
