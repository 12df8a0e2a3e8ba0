"""Where bytes go: a file that appears when it is complete, gzipped or not, or standard output."""

from __future__ import annotations

import gzip
import os
import secrets
import stat
import sys
from typing import IO, Any

from shoal.errors import InputError
from shoal.formats.source import reason

LEVEL = 3


class Sink:
    """Bytes are written beside the target and get its name on success."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._draft: str | None = None
        if path == "-":
            self._raw: IO[bytes] = sys.stdout.buffer
        else:
            self._target = os.path.realpath(path)
            self._raw = self._open()
        self.file: Any = self._raw
        if path.endswith(".gz"):
            self.file = gzip.GzipFile(filename="", fileobj=self._raw, mode="wb", compresslevel=LEVEL, mtime=0)

    def _open(self) -> IO[bytes]:
        if os.path.isdir(self._target):
            raise InputError(f"{self.path}: is a directory; name a file in it")
        try:
            if os.path.exists(self._target) and not stat.S_ISREG(os.stat(self._target).st_mode):
                return open(self._target, "wb")
            folder, name = os.path.split(self._target)
            self._draft = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")
            return open(self._draft, "xb")
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({reason(error)}); check the folder") from None

    def write(self, data: Any) -> None:
        try:
            self.file.write(data)
            if self.path == "-":
                self.file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise InputError(f"{self.path}: cannot be written ({reason(error)})") from None

    def close(self, failed: bool = False) -> None:
        if self.path == "-":
            return
        try:
            if self.file is not self._raw:
                self.file.close()
            self._raw.close()
            if self._draft and not failed:
                os.replace(self._draft, self._target)
        except OSError as error:
            failed = True
            raise InputError(f"{self.path}: cannot be written ({reason(error)})") from None
        finally:
            if self._draft and failed and os.path.exists(self._draft):
                os.unlink(self._draft)
