"""Writers: where bytes are written, what every writer can do, and the writer of JSON lines and CSV."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
import stat
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from types import TracebackType
from typing import IO, Any, Self

import pyarrow as pa

from shoal.errors import InputError, ShoalError
from shoal.formats.kind import is_standard, packing
from shoal.formats.reading.reader import reason
from shoal.formats.writing.text import TextEncoder

LEVEL = 3  # the level of gzip: more than twice as fast as the usual 6, for a file a third larger


@contextmanager
def guarded(path: object, kind: type[ShoalError], remedy: str) -> Iterator[None]:
    """Turns an error of the operating system into one that names the file; a closed pipe stays a BrokenPipeError."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise kind(f"{path}: cannot be written ({reason(error)}); {remedy}") from None


class Sink:
    """Writes bytes to a draft beside the target, which gets the target's name in the end.

    A target that exists and is not a regular file, such as a named pipe, is written to directly.
    """

    def __init__(self, path: str, private: bool = False) -> None:
        """`private`: only the owner may read a new file."""
        self.path, self._mode = path, 0o600 if private else 0o666
        self._target = os.path.realpath(path)
        self._draft = ""
        self._files: list[Any] = []
        with self.guarded():
            self._file: Any = self._opened()
        if packing(path):
            self._file = _packed(self._file, packing(path))
            self._files.insert(0, self._file)

    def _opened(self) -> IO[bytes]:
        if is_standard(self.path):
            return sys.stdout.buffer
        if os.path.isdir(self._target):
            raise InputError(f"{self.path}: is a directory; name a file in it")
        if os.path.exists(self._target) and not stat.S_ISREG(os.stat(self._target).st_mode):
            file = open(self._target, "wb")  # noqa: SIM115
        else:
            folder, name = os.path.split(self._target)
            draft = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")
            file = open(draft, "xb", opener=lambda path, flags: os.open(path, flags, self._mode))  # noqa: SIM115
            self._draft = draft
        self._files.append(file)
        return file

    def native(self) -> pa.NativeFile:
        """The file as Arrow writes to it."""
        file = pa.OSFile(self._draft, "wb") if self._draft else pa.PythonFile(self._file, "w")
        self._files.insert(0, file)
        return file

    def guarded(self) -> AbstractContextManager[None]:
        return guarded(self.path, InputError, "check its folder")

    def write(self, data: bytes | memoryview) -> None:
        with self.guarded():
            self._file.write(data)
            if is_standard(self.path):
                self._file.flush()

    def keep_as(self, path: str) -> bool:
        """Give the file another name in the end; False if what is written cannot be called back."""
        if not self._draft:
            return False
        self._target = os.path.realpath(path)
        return True

    def close(self, failed: bool = False) -> None:
        """Give the draft its name, or remove it."""
        try:
            with self.guarded():
                with ExitStack() as closing:
                    for file in reversed(self._files):
                        closing.callback(file.close)
                if self._draft and not failed:
                    os.replace(self._draft, self._target)
                    self._draft = ""
        finally:
            if self._draft and os.path.exists(self._draft):
                os.unlink(self._draft)


def _packed(file: Any, packing: str) -> Any:
    """A file that packs what is written, by the suffix of a compression."""
    match packing:
        case ".gz":
            return gzip.GzipFile("", "wb", LEVEL, file, mtime=0)
        case ".bz2":
            return bz2.BZ2File(file, "wb")
        case ".xz":
            return lzma.LZMAFile(file, "wb", preset=LEVEL)
    return pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")


class Writer(ABC):
    """Writes batches of one schema; the file appears when the `with` block ends without an error, and not at all otherwise."""

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch; the first one, which may be empty, fixes the schema."""

    @abstractmethod
    def close(self, failed: bool = False) -> None: ...

    def keep_as(self, path: str) -> bool:
        """Give the file another name in the end; False if what is written cannot be called back."""
        return self._sink.keep_as(path)

    _sink: Sink

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close(failed=kind is not None)


class TextWriter(Writer):
    """Writes a header, if there is one, and one record per line."""

    def __init__(self, path: str, kind: str, private: bool = False) -> None:
        self._sink = Sink(path, private)
        self._encoder = TextEncoder(kind)
        self._begun = False

    def write(self, batch: pa.RecordBatch) -> None:
        if not self._begun:
            self._sink.write(self._encoder.header(batch))
            self._begun = True
        for piece in self._encoder.pieces(batch):
            self._sink.write(piece)

    def close(self, failed: bool = False) -> None:
        self._sink.close(failed)
