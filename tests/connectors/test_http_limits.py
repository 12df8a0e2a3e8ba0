from __future__ import annotations

import socket
from contextlib import ExitStack

from shoal.connectors import Listener


def test_a_burst_of_connections_waits_in_the_kernel_not_at_the_client() -> None:
    with ExitStack() as stack:
        listener = stack.enter_context(Listener())
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)  # as asyncio does
        for _ in range(100):  # none is accepted
            stack.enter_context(socket.create_connection(listener.getsockname(), timeout=5))
