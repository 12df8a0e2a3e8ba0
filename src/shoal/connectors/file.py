"""Files: read once or followed as they grow, and written to their end."""

from __future__ import annotations

import csv
import fcntl
import io
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any, Self

import pyarrow as pa
from pydantic import AfterValidator, Field, model_validator

from shoal.config import FrozenModel, refusal
from shoal.connectors.connector import Delivery, Payload, Position, Sink, Source
from shoal.connectors.settings import LocalPath
from shoal.connectors.text_buffer import TAIL, TextBuffer
from shoal.dialect import USUAL, Dialect
from shoal.errors import ConnectorError, InputError
from shoal.formats import (
    BOM,
    Block,
    TextEncoder,
    field_names,
    first_record,
    guarded,
    kind,
    last_record,
    open_reader,
    packing,
    reason,
)
from shoal.formats import Source as Bytes

CHUNK = 4 << 20
UNFINISHED = 5.0  # seconds that a record of a followed CSV may go on over line ends, before its first line is given up
PAUSE = 0.02  # seconds from one look at a followed file to the next
PRIVATE = 0o600  # readable by the owner alone
RARELY = 20  # times as long as a comparison of the output took, until the next one
TEXTS = ("jsonl", "csv")


def _known(path: Path) -> Path:
    try:
        kind(str(path))
    except InputError as error:
        raise refusal(str(error).partition(": ")[2]) from None
    return path


def _written(path: Path) -> Path:
    if kind(str(path)) not in TEXTS or packing(path.name) or path.suffix.lower() == ".tsv":
        raise refusal("cannot be written to its end; name it .jsonl or .csv")
    return path


File = Annotated[LocalPath, AfterValidator(_known)]


class FileSource(Source):
    """Reads a file of any kind; text may be followed as it grows.

    A position is how much was read, and a checksum that detects another file of the same name.
    """

    identity = ("path",)
    replays = True
    begin_is_harmless = True

    class Settings(FrozenModel):
        path: File = Field(description="the file, of any kind that is read: .jsonl, .csv, .parquet and others")
        follow: bool = Field(default=False, description="whether to wait at its end for what is appended")

        @model_validator(mode="after")
        def _grows(self) -> Self:
            if self.follow and (kind(str(self.path)) not in TEXTS or packing(self.path.name)):
                raise refusal(("follow", "only .jsonl and .csv files can be followed as they grow; write false"))
            return self

    def __init__(self, settings: Settings) -> None:
        self._path, self._follow = str(settings.path), settings.follow
        self._kind = kind(self._path)
        self._at = 0  # bytes of text, else rows
        self._text = TextBuffer(self._kind)
        self._unfinished: float | None = None  # since when a record of CSV goes on over line ends
        self._tail = b""  # the last bytes of a table
        self._blocks: Iterator[Block] | None = None
        self._bytes: Bytes | None = None

    def begin(self, position: Position | None) -> Position:
        self._at = int(position["at"]) if position else 0
        if self._kind in TEXTS:
            self._begin_text()
        else:
            reader = open_reader(self._path, self.fields, passed=self.passed, dialect=self.dialect)
            self._blocks = (block for block in reader if block.end > self._at)
            self._tail = _last_bytes(self._path)
        self._compare(position)
        return self._position()

    def _position(self) -> Position:
        return {"at": self._at, "tail": [zlib.crc32(self._text.tail if self._blocks is None else self._tail)]}

    def _compare(self, position: Position | None) -> None:
        """Refuse a file that is not the one that was read up to a position before."""
        if position and "tail" in position and position["tail"] != self._position()["tail"]:
            raise ConnectorError(
                f"{self._path}: is not the file that was read before; restore that one, or start with another state"
            )

    def _begin_text(self) -> None:
        self.dialect = self.dialect.named(self._path)
        if self._kind == "csv":
            self.format, self.columns = "csv", field_names(self._path, self.dialect)
        self._text = TextBuffer(self._kind, self.dialect, len(self.columns))
        self._bytes = Bytes(self._path, self.dialect.encoding)
        self._inode = os.stat(self._path).st_ino
        skipped = lines = 0
        if not self._at:
            beginning = self._bytes.read(CHUNK)
            self._at = skipped = _header(beginning, self._kind, self.dialect)
            lines = beginning.count(b"\n", 0, skipped)
            self._text.tail = beginning[:skipped][-TAIL:]
            self._text.add(beginning[skipped:])
        while skipped < self._at:
            found = self._bytes.read(min(CHUNK, self._at - skipped))
            if not found:
                raise ConnectorError(f"{self._path}: is shorter than the state remembers; give the file that was read before")
            self._text.tail = (self._text.tail + found)[-TAIL:]
            skipped += len(found)
            lines += found.count(b"\n")
        self.lines_before = lines if self._kind == "csv" else None

    def replay(self, until: Position) -> Sequence[Payload]:
        payloads: list[Payload] = []
        while self._at < until["at"]:
            found = self._next(int(until["at"]) - self._at)
            if found is None:
                raise ConnectorError(f"{self._path}: is shorter than the state remembers; give the file that was read before")
            payloads.append(found)
        self._compare(until)
        return payloads

    def read(self, seconds: float) -> Delivery | None:
        until = time.monotonic() + seconds
        found = self._next()
        while found is None and not self.ended and (left := until - time.monotonic()) > 0:
            time.sleep(min(PAUSE, left))
            found = self._next()
        return None if found is None else Delivery([found], self._position())

    def _next(self, most: int | None = None) -> Payload | None:
        return self._next_text(most) if self._blocks is None else self._next_block()

    def _next_block(self) -> Block | None:
        assert self._blocks is not None
        block = next(self._blocks, None)
        if block is None:
            self.ended = True
            return None
        self._at = block.end
        return block

    def _next_text(self, most: int | None) -> bytes | None:
        """Whole records, or with `most` so many bytes; at the end of a file that is not followed, also an unfinished line."""
        assert self._bytes is not None
        while True:
            taken = self._text.take(most)
            if taken is None and not self._has_more():
                taken = self._given_up() if self._follow else self._text.rest()
                self.ended = not self._follow and not self._text.size
                if taken is None:
                    return None
            if taken is not None:
                self._unfinished = None
                self._at += taken[1]
                return taken[0]

    def _has_more(self) -> bool:
        assert self._bytes is not None
        if self._follow:
            self._check_followed()
        found = self._bytes.read(CHUNK)
        self._text.add(found)
        return bool(found)

    def _given_up(self) -> tuple[bytes, int] | None:
        """The first line of a followed CSV, if a quote in it was not closed for a while: all that comes would wait for it."""
        if self._kind != "csv" or not self._text.has_line:
            self._unfinished = None
            return None
        now = time.monotonic()
        self._unfinished = self._unfinished or now
        return self._text.give_up() if now - self._unfinished > UNFINISHED else None

    def _check_followed(self) -> None:
        """Refuse a followed file that was cut, or replaced by another, also if it has grown again since then."""
        read, before = self._at + self._text.size, self._text.last
        if self._bytes and self.dialect.encoding != USUAL.encoding:  # positions count bytes of UTF-8
            read, before = self._bytes.progress()[0], self._bytes.last
        try:
            now = os.stat(self._path)
            if now.st_ino == self._inode and now.st_size == read:
                return
            is_same = now.st_ino == self._inode and now.st_size > read
            if is_same and before:
                with open(self._path, "rb") as file:
                    file.seek(read - len(before))
                    is_same = file.read(len(before)) == before
        except OSError:
            is_same = False
        if not is_same:
            raise ConnectorError(
                f"{self._path}: was replaced or cut while it was followed; append to it only, or start with another state"
            )

    def acknowledge(self, position: Position) -> None:
        """The file stays as it is."""

    @property
    def lag(self) -> int | None:
        if self._kind not in TEXTS or packing(self._path):
            return None
        try:
            done = self._at if self.dialect.encoding == USUAL.encoding or not self._bytes else self._bytes.progress()[0]
            return max(os.path.getsize(self._path) - done, 0)
        except OSError:
            return None

    def close(self) -> None:
        if self._bytes:
            self._bytes.close()


def _last_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - TAIL, 0))
        return file.read()


def _header(beginning: bytes, kind: str, dialect: Dialect) -> int:
    """How many bytes precede the first record."""
    mark = len(BOM) if beginning.startswith(BOM) else 0
    return mark + first_record(kind, beginning[mark:], dialect)


class FileSink(Sink):
    """Appends to a file. After a crash, the replay is compared with what the file holds after the checkpoint."""

    identity = ("path",)
    remembers = True

    class Settings(FrozenModel):
        path: Annotated[File, AfterValidator(_written)] = Field(description="the file to write to its end: .jsonl or .csv")

    def __init__(self, settings: Settings, repeats: bool = True, private: bool = False) -> None:
        """`repeats`: a replay writes the same bytes. `private`: only the owner may read the file."""
        self._path, self._repeats = str(settings.path), repeats
        self._mode = PRIVATE if private else 0o666
        self._kind = kind(self._path)
        self._encoder = TextEncoder(self._kind)
        self._at = 0
        self._checksum = 0  # of all bytes before `_at`
        self._beyond = 0  # bytes in the file that the replay will write again
        self._written = 0  # when it was last written to here, as the file system says it
        self._compare_from = 0.0  # not again before this time: some file systems change what they say
        self._file: Any = None

    def begin(self, mark: Position | None, sequence: int) -> None:
        try:
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, self._mode), "r+b", buffering=0)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConnectorError(f"{self._path}: another pipeline writes to it; name another file") from None
        except OSError as error:
            raise ConnectorError(f"{self._path}: cannot be written ({reason(error)}); check its folder") from None
        if mark is None and self._mode == PRIVATE:
            os.fchmod(self._file.fileno(), PRIVATE)
        self._look(mark, os.fstat(self._file.fileno()))
        if mark and self._touched:
            self._compare()
        self._file.seek(self._at)
        self._written = os.fstat(self._file.fileno()).st_mtime_ns

    def _look(self, mark: Position | None, found: os.stat_result | None) -> None:
        """Compare the size of the file with the mark of a checkpoint."""
        size = found.st_size if found else 0
        if mark is None and size:
            raise ConnectorError(
                f"{self._path}: has content that no state knows; remove it, name another file, or restore its state"
            )
        self._at = int(mark["at"]) if mark else 0
        if size < self._at:
            raise ConnectorError(f"{self._path}: is shorter than the state remembers; restore the file that was written")
        self._beyond = size - self._at
        self._checksum = int(mark["checksum"]) if mark else 0
        self._touched = mark is not None and (found is None or [found.st_ino, found.st_mtime_ns] != mark["touched"])

    def _compare(self) -> None:
        """Compare all bytes that were written here."""
        found, left = 0, self._at
        with open(self._path, "rb") as file:
            while left and (piece := file.read(min(left, CHUNK))):
                found, left = zlib.crc32(piece, found), left - len(piece)
        if left or found != self._checksum:
            raise self._changed(f"before byte {self._at}")

    def _changed(self, where: str) -> ConnectorError:
        return ConnectorError(
            f"{self._path}: {where} it is not what the pipeline wrote; restore that file, "
            "or start with another file and another state"
        )

    def probe(self, mark: Position | None, sequence: int) -> bool:
        there = os.path.exists(self._path)
        if not os.access(self._path if there else os.path.dirname(self._path) or os.curdir, os.W_OK):
            raise ConnectorError(f"{self._path}: cannot be written; check its folder, and the permissions")
        self._look(mark, os.stat(self._path) if there else None)
        if self._touched and self._at:
            self._compare()
        return True

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        if not len(batch):
            return
        self.watch()
        self.append(self._encoder.header(batch) if not self._at else b"")
        for piece in self._encoder.pieces(batch):
            self.append(piece)

    def append(self, data: bytes | memoryview) -> None:
        """Write bytes, except those that the file already has.

        Raises ConnectorError if the file has other bytes: tuples would leave a second time in other groups.
        """
        if self._beyond:
            there = self._file.read(min(len(data), self._beyond))
            if there == data[: len(there)]:
                self._count(there)
                self._beyond -= len(there)
                data = data[len(there) :]
            else:
                self._cut(there, data)
        while len(data):
            with self._guarded():
                done = self._file.write(data)
            self._count(data[:done])
            data = data[done:]
        self._written = os.fstat(self._file.fileno()).st_mtime_ns

    def _count(self, written: bytes | memoryview) -> None:
        self._at += len(written)
        self._checksum = zlib.crc32(written, self._checksum)

    def watch(self) -> None:
        """Refuse a file that others removed, replaced, cut or wrote to since the last write."""
        held = self._watch_name()
        if held.st_size != self._at + self._beyond:
            what = "cut" if held.st_size < self._at + self._beyond else "written to by others"
            raise ConnectorError(f"{self._path}: was {what} while the pipeline wrote to it; restore the file that was written")
        begun = time.monotonic()
        if held.st_mtime_ns != self._written and begun >= self._compare_from:
            self._compare()
            self._written, now = held.st_mtime_ns, time.monotonic()
            self._compare_from = now + RARELY * (now - begun)

    def _guarded(self) -> AbstractContextManager[None]:
        return guarded(self._path, ConnectorError, "make room, and start again")

    def _cut(self, there: bytes, data: bytes | memoryview) -> None:
        """Remove what the replay will write again: after a power cut it is full of zeros."""
        same = next(i for i, (one, other) in enumerate(zip(there, bytes(data), strict=False)) if one != other)
        self._file.seek(self._at + same)
        if self._repeats and self._file.read().strip(b"\0"):
            raise self._changed(f"from byte {self._at + same} on")
        self._file.truncate(self._at)
        self._file.seek(self._at)
        self._beyond = 0

    def caught_up(self, sequence: int) -> None:
        if self._beyond:
            raise ConnectorError(
                f"{self._path}: holds more than the state remembers, so the state is older than its output; "
                "restore the newest state, or start with another file and another state"
            )

    def _watch_name(self) -> os.stat_result:
        held = os.fstat(self._file.fileno())
        try:
            named = os.stat(self._path)
        except OSError:
            named = None
        if named is None or (named.st_ino, named.st_dev) != (held.st_ino, held.st_dev):
            raise ConnectorError(f"{self._path}: was removed or replaced while the pipeline wrote to it; restore that file")
        return held

    def take_over(self, sequence: int) -> int:
        """Count the lines that the replay does not know of; half a line at the end is removed."""
        self._file.seek(self._at)
        found = bytearray(self._file.read())
        rest = bytes(found[: last_record(self._kind, found) if found else 0])
        tuples = _records(self._kind, rest) - (self._at == 0 and self._kind == "csv" and bool(rest))
        self._count(rest)
        self._file.truncate(self._at)
        self._file.seek(self._at)
        self._beyond, self._written = 0, os.fstat(self._file.fileno()).st_mtime_ns
        return sequence + tuples

    @property
    def mark(self) -> Position:
        found = os.fstat(self._file.fileno())
        return {"at": self._at, "checksum": self._checksum, "touched": [found.st_ino, self._written]}

    def make_durable(self) -> None:
        self._watch_name()
        with self._guarded():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file:
            self._file.close()


def _records(kind: str, text: bytes) -> int:
    """How many records whole lines hold."""
    return text.count(b"\n") if kind == "jsonl" else sum(1 for _ in csv.reader(io.StringIO(text.decode(), newline="")))
