"""A thread that does one task at a time, and of each kind only the newest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from threading import Condition, Thread
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")
_PATIENCE = 2  # seconds for a running task to notice that it is outdated


class Superseded(Exception):
    """A newer task of the same kind replaced this one."""


class _Task(NamedTuple):
    do: Callable[[Callable[[], None]], Any]
    future: Future[Any]
    number: int


class Worker:
    """Runs tasks from any thread in its own thread; the kinds that are listed come first, in this order.

    A running task of a kind that is `yielding` ends as soon as one of those waits.

    >>> worker = Worker("trial")
    >>> worker.run("trial", lambda _: 2 + 2)
    4
    >>> worker.close()
    """

    def __init__(self, *first: str, yielding: Sequence[str] = ()) -> None:
        self._first = first
        self._yielding = yielding
        self._waiting: dict[str, _Task] = {}
        self._newest: dict[str, int] = {}
        self._changed = Condition()
        self._open = True
        self._thread = Thread(target=self._loop, name="lab", daemon=True)
        self._thread.start()

    def run(self, kind: str, do: Callable[[Callable[[], None]], Result]) -> Result:
        """Run a task, and wait for its result. `do` gets a function to call from time to time, which ends an outdated task.

        Raises Superseded if a newer task of its kind came, or the worker was closed.
        """
        future: Future[Result] = Future()
        with self._changed:
            if not self._open:
                raise Superseded
            number = self._newest[kind] = self._newest.get(kind, 0) + 1
            older = self._waiting.pop(kind, None)
            self._waiting[kind] = _Task(do, future, number)
            self._changed.notify()
        if older:
            older.future.set_exception(Superseded())
        return future.result()

    def close(self) -> None:
        with self._changed:
            self._open = False
            self._changed.notify()
        self._thread.join(_PATIENCE)

    def _loop(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or not self._open)
                if not self._open:
                    for task in self._waiting.values():
                        task.future.set_exception(Superseded())
                    return
                kind = next((kind for kind in self._first if kind in self._waiting), None) or next(iter(self._waiting))
                task = self._waiting.pop(kind)
            try:
                task.future.set_result(task.do(partial(self._check, kind, task.number)))
            except BaseException as error:
                task.future.set_exception(error)

    def _check(self, kind: str, number: int) -> None:
        yields = kind in self._yielding and any(each in self._waiting for each in self._first)
        if self._newest.get(kind) != number or not self._open or yields:
            raise Superseded
