"""The secret of the pseudonyms: from a file that the policy names, or from the environment. It is kept nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

from shoal.errors import PolicyError
from shoal.policy import Zanon

VARIABLE = "SHOAL_SECRET"
SHORTEST = 16  # bytes


def secret(parameters: Zanon) -> bytes:
    """The secret in the policy's file, or else in the environment.

    Raises
    ------
    PolicyError
        There is no secret, or it is too short.
    """
    file = parameters.secret_file
    place = VARIABLE if file is None else "algorithm.secret_file"
    found = _from_environment() if file is None else _from_file(Path(file))
    if found is None:
        raise PolicyError([
            f"{VARIABLE}: is not set, and algorithm.secret_file names no file; pseudonyms need a secret of at least "
            f"{SHORTEST} bytes"
        ])  # fmt: skip
    if len(found) < SHORTEST:
        raise PolicyError([f"{place}: is shorter than {SHORTEST} bytes; choose a longer random secret"])
    return found


def _from_environment() -> bytes | None:
    text = os.environ.get(VARIABLE)
    return os.fsencode(text) if text else None


def _from_file(path: Path) -> bytes:
    """The content of a file, without line breaks at its end."""
    try:
        return path.read_bytes().rstrip(b"\r\n")
    except FileNotFoundError:
        problem = "does not exist in the policy's folder; add it or correct the name"
    except OSError:
        problem = "cannot be read; check that it is a file and its permissions"
    raise PolicyError([f"algorithm.secret_file: {problem}"])
