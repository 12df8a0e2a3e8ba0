"""A worker that does one thing at a time, and of each kind only the newest."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Condition, Thread
from typing import Any, NamedTuple, TypeVar

Result = TypeVar("Result")
_PATIENCE = 2  # seconds for work under way to notice that nobody needs it


class Superseded(Exception):
    """A newer piece of work of the same kind took its place."""


class _Work(NamedTuple):
    do: Callable[[Callable[[], None]], Any]
    future: Future[Any]
    number: int


class Desk:
    """Takes work from any thread and does it in its own, the kinds in the order in which they are listed.

    >>> desk = Desk("trial")
    >>> desk.ask("trial", lambda still: 2 + 2)
    4
    >>> desk.close()
    """

    def __init__(self, *first: str) -> None:
        self._first = first
        self._waiting: dict[str, _Work] = {}
        self._newest: dict[str, int] = {}
        self._changed = Condition()
        self._open = True
        self._thread = Thread(target=self._run, name="lab", daemon=True)
        self._thread.start()

    def ask(self, kind: str, do: Callable[[Callable[[], None]], Result]) -> Result:
        """Wait for the work to be done. `do` gets a function that it calls now and then, and that ends it if it is outdated.

        Raises
        ------
        Superseded
            Something newer of its kind came.
        """
        future: Future[Result] = Future()
        with self._changed:
            if not self._open:
                raise Superseded
            number = self._newest[kind] = self._newest.get(kind, 0) + 1
            older = self._waiting.pop(kind, None)
            self._waiting[kind] = _Work(do, future, number)
            self._changed.notify()
        if older:
            older.future.set_exception(Superseded())
        return future.result()

    def close(self) -> None:
        with self._changed:
            self._open = False
            self._changed.notify()
        self._thread.join(_PATIENCE)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or not self._open)
                if not self._open:
                    for work in self._waiting.values():
                        work.future.set_exception(Superseded())
                    return
                kind = next((kind for kind in self._first if kind in self._waiting), None) or next(iter(self._waiting))
                work = self._waiting.pop(kind)
            try:
                work.future.set_result(work.do(lambda kind=kind, number=work.number: self._still(kind, number)))  # type: ignore[misc]
            except BaseException as error:
                work.future.set_exception(error)

    def _still(self, kind: str, number: int) -> None:
        if self._newest.get(kind) != number or not self._open:
            raise Superseded
