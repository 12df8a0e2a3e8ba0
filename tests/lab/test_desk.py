"""Newest wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from shoal.lab.desk import Desk, Superseded


def test_only_the_newest_of_a_kind_is_done() -> None:
    desk, started, go = Desk("trial"), Event(), Event()
    done = []

    def slow(still):  # type: ignore[no-untyped-def]
        started.set()
        go.wait(10)
        still()
        done.append("slow")

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(desk.ask, "trial", slow)
        started.wait(10)
        second = pool.submit(desk.ask, "trial", lambda still: done.append("second"))
        while desk._newest["trial"] < 2:
            pass
        third = pool.submit(desk.ask, "trial", lambda still: done.append("third"))
        with pytest.raises(Superseded):
            second.result(10)
        go.set()
        with pytest.raises(Superseded):
            first.result(10)
        third.result(10)
    assert done == ["third"]
    desk.close()


def test_a_failure_reaches_who_asked() -> None:
    desk = Desk()
    with pytest.raises(ZeroDivisionError):
        desk.ask("any", lambda still: 1 / 0)
    desk.close()
    with pytest.raises(Superseded):
        desk.ask("any", lambda still: 1)
