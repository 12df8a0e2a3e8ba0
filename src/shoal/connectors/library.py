"""Client libraries, imported when they are needed."""

from __future__ import annotations

import logging
from importlib import import_module
from typing import Any

from shoal.errors import ConnectorError


def library(name: str, extra: str) -> Any:
    """A module of a client that only some pipelines need. What it logs is not shown, since it could hold data.

    Raises
    ------
    ConnectorError
        It is not installed.

    >>> library("no_such_client", "kafka")
    Traceback (most recent call last):
    shoal.errors.ConnectorError: the client of 'kafka' is not installed; install it with pip install 'shoal[kafka]'
    """
    try:
        module = import_module(name)
    except ImportError:
        raise ConnectorError(
            f"the client of {extra!r} is not installed; install it with pip install 'shoal[{extra}]'"
        ) from None
    logger = logging.getLogger(name.partition(".")[0])
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return module
