"""Packages of extras: imported when they are used, with an error that names the extra to install."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from shoal.errors import InputError

SUFFIXES = (".png", ".svg")


@contextmanager
def needs(extra: str, what: str) -> Iterator[None]:
    """Turn a failed import into an error that names the extra.

    >>> with needs("web", "the page"):
    ...     import no_such_package
    Traceback (most recent call last):
    shoal.errors.InputError: the page: needs no_such_package, which is not installed; pip install 'shoal-stream[web]'
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise InputError(_missing(error.name, extra, what)) from None


def has(package: str) -> bool:
    """Whether a package is installed."""
    return find_spec(package) is not None


def require_plots() -> None:
    """Refuse if matplotlib is not installed."""
    if not has("matplotlib"):
        raise InputError(_missing("matplotlib", "plots", "a plot"))


def check_plot(path: str) -> None:
    """Refuse before long work a plot that could not be written at its end.

    Raises InputError if the suffix of the file is unknown, or matplotlib is not installed.
    """
    if not path.lower().endswith(SUFFIXES):
        raise InputError(f"{path}: unknown kind of picture; its name must end in {' or '.join(SUFFIXES)}")
    require_plots()


def pyplot() -> Any:
    """matplotlib's pyplot, which draws to files without a display; an InputError if it is not installed."""
    require_plots()
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    return pyplot


def _missing(package: str | None, extra: str, what: str) -> str:
    return f"{what}: needs {package}, which is not installed; pip install 'shoal-stream[{extra}]'"
