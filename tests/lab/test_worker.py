"""Newest wins."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from shoal.lab.worker import Superseded, Worker


def test_only_the_newest_of_a_kind_is_done() -> None:
    worker, started, go = Worker("trial"), Event(), Event()
    done = []

    def slow(still):  # type: ignore[no-untyped-def]
        started.set()
        go.wait(10)
        still()
        done.append("slow")

    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(worker.run, "trial", slow)
        started.wait(10)
        second = pool.submit(worker.run, "trial", lambda check: done.append("second"))
        while worker._newest["trial"] < 2:
            pass
        third = pool.submit(worker.run, "trial", lambda check: done.append("third"))
        with pytest.raises(Superseded):
            second.result(10)
        go.set()
        with pytest.raises(Superseded):
            first.result(10)
        third.result(10)
    assert done == ["third"]
    worker.close()


def test_a_failure_reaches_who_asked() -> None:
    worker = Worker()
    with pytest.raises(ZeroDivisionError):
        worker.run("any", lambda check: 1 / 0)
    worker.close()
    with pytest.raises(Superseded):
        worker.run("any", lambda check: 1)
