"""Object stores, by the address of an object: `s3://bucket/key`, `gs://…`, `abfs://…`, and whatever fsspec knows.

Credentials come by each store's own means: its environment variables, its files, the role of the machine.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from shoal.errors import InputError

PIECE = 4 << 20  # bytes that are copied at a time
PATIENCE = 20  # seconds for which a store is asked again
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://(.+)", re.DOTALL)


def is_address(path: object) -> bool:
    """Whether a path is the address of an object in a store.

    >>> is_address("s3://bucket/people.csv"), is_address("people.csv"), is_address("/data/people.csv")
    (True, False, False)
    """
    return isinstance(path, str) and _ADDRESS.fullmatch(path) is not None


def local_path(address: str) -> str | None:
    """The path of a local file; None if the address is in an object store.

    >>> local_path("file:///a%20b"), local_path("/a"), local_path("s3://a/b")
    ('/a b', '/a', None)
    """
    if address.startswith("file:"):
        return unquote(urlsplit(address).path)
    return None if is_address(address) else address


def make_durable(files: Iterable[str], within: str) -> None:
    """Force local files to the disk, and the names of them in their folders, up to the folder `within`."""
    within = os.path.abspath(within)
    folders = {within, os.path.dirname(within)}
    for path in map(os.path.abspath, files):
        force(path)
        while (path := os.path.dirname(path)).startswith(within) and path not in folders:
            folders.add(path)
    for folder in folders:
        force(folder)


def force(path: str) -> None:
    """Force a file to the disk; of a folder, the names in it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def opened_store(address: str) -> tuple[Any, str]:
    """The file system of an address, as pyarrow has it, and the path in it.

    Raises InputError if neither pyarrow nor fsspec can open it.
    """
    from pyarrow import fs

    match = _ADDRESS.fullmatch(address)
    assert match
    scheme = match[1]
    bounded = scheme in ("gs", "gcs") and "?" not in address  # Google's client tries for 15 minutes, deaf to signals
    try:
        return fs.FileSystem.from_uri(f"{address}?retry_limit_seconds={PATIENCE}" if bounded else address)
    except OSError:
        why = "the store does not answer, or has no such place; check the address, the network, and the store's own settings"
    except (ValueError, NotImplementedError):
        why = "no file system opens this address; install the fsspec package of this store, or correct the address"
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(address)
    except (ImportError, ValueError, OSError):
        raise InputError(f"{without_login(address)}: {why}") from None
    return fs.PyFileSystem(fs.FSSpecHandler(system)), path


def without_login(address: str) -> str:
    """An address without what may be secret in it.

    >>> without_login("s3://key:secret@lake/people?session=secret"), without_login("s3://lake/people")
    ('s3://lake/people', 's3://lake/people')
    """
    scheme, _, place = address.partition("://")
    host, slash, path = place.partition("?")[0].partition("/")
    return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"


def refuse_missing_bucket(system: Any, path: str) -> None:
    """Raises OSError if the bucket of a path is not there. A listing of it is only empty."""
    if system.type_name in ("s3", "gcs", "abfs"):
        from pyarrow import fs

        if system.get_file_info(path.partition("/")[0]).type == fs.FileType.NotFound:
            raise OSError("no_such_bucket")


def store_reason(error: BaseException, otherwise: str = "the store does not answer as it should") -> str:
    """Why a store refused, without addresses and without data."""
    text = str(error).lower()
    for words, said in (
        (("access_denied", "access denied", "forbidden", "invalidaccesskeyid", "signaturedoesnotmatch"), "access is denied"),
        (("no_such_bucket", "nosuchbucket", "bucket does not exist"), "there is no such bucket"),
        (("not found", "no such", "path does not exist"), "it is not there"),
        (("credentials",), "there are no credentials"),
        (("no space left", "database or disk is full"), "no space left on device"),
        (("permission denied", "readonly database"), "permission denied"),
        (("read-only file system",), "read-only file system"),
    ):
        if any(word in text for word in words):
            return said
    return otherwise


@contextmanager
def fetched(*paths: Any) -> Iterator[list[Any]]:
    """The same paths, with a local copy for each that is an address: in a folder of its owner alone, removed in the end."""
    if not any(map(is_address, paths)):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        yield [_fetch(path, f"{folder}/{i}") if is_address(path) else path for i, path in enumerate(paths)]


def _fetch(address: str, folder: str) -> str:
    system, path = opened_store(address)
    os.mkdir(folder)
    local = f"{folder}/{path.rpartition('/')[2]}"
    try:
        with system.open_input_stream(path) as source, open(local, "wb") as target:
            shutil.copyfileobj(source, target, PIECE)
    except OSError as error:
        raise InputError(f"{address}: cannot be read ({store_reason(error)}); check the address and the rights") from None
    return local


@contextmanager
def stored(*paths: Any) -> Iterator[list[Any]]:
    """The same paths, with a local file for each that is an address; what was written, or a draft beside it, is stored then."""
    if not any(map(is_address, paths)):
        yield list(paths)
        return
    with tempfile.TemporaryDirectory(prefix="shoal-") as folder:
        local = [f"{folder}/{i}/{path.rpartition('/')[2]}" if is_address(path) else path for i, path in enumerate(paths)]
        for name, path in zip(local, paths, strict=True):
            if name != path:
                os.mkdir(os.path.dirname(name))
        try:
            yield local
        finally:
            for name, path in zip(local, paths, strict=True):
                if name != path:
                    _store(os.path.dirname(name), path)


def _store(folder: str, address: str) -> None:
    system, path = opened_store(address)
    try:
        for name in os.listdir(folder):
            beside = f"{path.rpartition('/')[0]}/{name}"
            with open(f"{folder}/{name}", "rb") as source, system.open_output_stream(beside) as target:
                shutil.copyfileobj(source, target, PIECE)
    except OSError as error:
        raise InputError(f"{address}: cannot be written ({store_reason(error)}); check the address and the rights") from None
