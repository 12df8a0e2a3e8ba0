"""Where bytes come from: a file, a gzip file or standard input."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from typing import IO, Any

from shoal.errors import InputError


def reason(error: OSError) -> str:
    """Why the operating system refused, without the path.

    >>> reason(OSError(2, "No such file or directory", "secret"))
    'no such file or directory'
    """
    return (os.strerror(error.errno) if error.errno else "input/output error").lower()


def checked(path: str) -> str:
    """The path, if a readable file is there."""
    if os.path.isdir(path):
        raise InputError(f"{path}: is a directory; name a file in it")
    try:
        with open(path, "rb"):
            return path
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({reason(error)}); check the name and the permissions") from None


class Source:
    """Bytes in order, with a count of how many were taken from the file itself."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._total: int | None = None
        self._done = 0
        self._gzip = path.endswith(".gz")
        if path == "-":
            self._raw: IO[bytes] = sys.stdin.buffer
            self._file: Any = sys.stdin.buffer.raw if hasattr(sys.stdin.buffer, "raw") else sys.stdin.buffer
            return
        checked(path)
        self._raw = open(path, "rb", buffering=0)  # noqa: SIM115
        if os.path.isfile(path):
            self._total = os.fstat(self._raw.fileno()).st_size
        self._file = gzip.GzipFile(fileobj=self._raw) if self._gzip else self._raw

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(memoryview(buffer))])

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer, or as much of it as there is to be had at once."""
        try:
            count: int = self._file.readinto(buffer)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InputError(f"{self.path}: the gzip data is cut short or damaged; compress it again") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({reason(error)})") from None
        self._done += count
        return count

    def progress(self) -> tuple[int, int | None]:
        return (self._raw.tell() if self._gzip else self._done), self._total

    def close(self) -> None:
        if self.path != "-":
            self._raw.close()
