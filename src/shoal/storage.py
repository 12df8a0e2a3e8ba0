"""Object stores, by the address of an object: `s3://bucket/key`, `gs://…`, `abfs://…`, and whatever fsspec knows.

Credentials come by each store's own means: its environment variables, its files, the role of the machine.
"""

from __future__ import annotations

import re
from typing import Any

from shoal.errors import InputError

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://(.+)", re.DOTALL)


def is_address(path: object) -> bool:
    """Whether a path is the address of an object in a store.

    >>> is_address("s3://bucket/people.csv"), is_address("people.csv"), is_address("/data/people.csv")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.fullmatch(path) is not None


def opened_store(address: str) -> tuple[Any, str]:
    """The file system of an address, as pyarrow has it, and the path in it.

    Raises InputError if neither pyarrow nor fsspec can open it.
    """
    from pyarrow import fs

    match = _ADDRESS.fullmatch(address)
    assert match
    scheme = match[1]
    try:
        return fs.FileSystem.from_uri(address)
    except (ValueError, OSError, NotImplementedError):
        pass
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(address)
    except (ImportError, ValueError, OSError):
        raise InputError(
            f"{scheme}://: no file system opens this address; install the fsspec package of this store, or correct the address"
        ) from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def store_reason(error: BaseException) -> str:
    """Why a store refused, without addresses and without data."""
    text = str(error).lower()
    for words, said in (
        (("access_denied", "access denied", "forbidden", "invalidaccesskeyid", "signaturedoesnotmatch"), "access is denied"),
        (("no_such_bucket", "nosuchbucket", "bucket does not exist"), "there is no such bucket"),
        (("not found", "no such", "path does not exist"), "it is not there"),
        (("credentials",), "there are no credentials"),
    ):
        if any(word in text for word in words):
            return said
    return "the store does not answer as it should"
