"""Where bytes come from: a file, a gzip file or standard input."""

from __future__ import annotations

import gzip
import os
import sys
import zlib
from typing import Any

from shoal.errors import InputError

BOM = b"\xef\xbb\xbf"
"""The mark that some programs put before UTF-8."""


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
        self._done = 0
        self._total: int | None = None
        self._raw: Any = sys.stdin.buffer if path == "-" else open(checked(path), "rb", buffering=0)
        self._gzip = gzip.GzipFile(fileobj=self._raw) if path.lower().endswith(".gz") else None
        self._readinto = self._gzip.readinto if self._gzip else getattr(self._raw, "readinto1", self._raw.readinto)
        if os.path.isfile(path):
            self._total = os.path.getsize(path)

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        buffer = bytearray(size)
        return bytes(memoryview(buffer)[: self.readinto(memoryview(buffer))])

    def readinto(self, buffer: memoryview) -> int:
        """Fill the buffer, or as much of it as there is to be had at once; 0 at the end."""
        try:
            count: int = self._readinto(buffer)
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise InputError(f"{self.path}: the gzip data is cut short or damaged; compress it again") from None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({reason(error)})") from None
        self._done = self._raw.tell() if self._gzip else self._done + count
        return count

    def progress(self) -> tuple[int, int | None]:
        """`(bytes done, bytes in all)`, as they lie in the file; of standard input the second is unknown."""
        return self._done, self._total

    def close(self) -> None:
        if self.path != "-":
            self._raw.close()
