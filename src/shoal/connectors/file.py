"""Files: read once or followed as they grow, and written to their end."""

from __future__ import annotations

import fcntl
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
from shoal.errors import ConnectorError, InputError
from shoal.formats import BOM, Block, TextEncoder, field_names, first_record, guarded, kind, last_record, open_reader, reason
from shoal.formats import Source as Bytes

CHUNK = 4 << 20
LONGEST = 64 << 20
TAIL = 4 << 10  # bytes that identify a file: those before a position of a text, or the last ones of a table
PAUSE = 0.02  # seconds from one look at a followed file to the next
TEXTS = ("jsonl", "csv")


def _known(path: Path) -> Path:
    try:
        kind(str(path))
    except InputError as error:
        raise refusal(str(error).partition(": ")[2]) from None
    return path


def _written(path: Path) -> Path:
    if kind(str(path)) not in TEXTS or path.name.lower().endswith(".gz"):
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
        path: File = Field(description="the file: .jsonl, .csv (each also .gz), .parquet or .arrow")
        follow: bool = Field(default=False, description="whether to wait at its end for what is appended")

        @model_validator(mode="after")
        def _grows(self) -> Self:
            if self.follow and (kind(str(self.path)) not in TEXTS or self.path.name.lower().endswith(".gz")):
                raise refusal(("follow", "only .jsonl and .csv files can be followed as they grow; write false"))
            return self

    def __init__(self, settings: Settings) -> None:
        self._path, self._follow = str(settings.path), settings.follow
        self._kind = kind(self._path)
        self._at = 0  # bytes of text, else rows
        self._read = bytearray()  # text that was read and not delivered yet
        self._tail = b""
        self._blocks: Iterator[Block] | None = None
        self._bytes: Bytes | None = None

    def begin(self, position: Position | None) -> Position:
        self._at = int(position["at"]) if position else 0
        if self._kind in TEXTS:
            self._begin_text()
        else:
            reader = open_reader(self._path, self.fields, passed=self.passed)
            self._blocks = (block for block in reader if _end(block) > self._at)
            self._tail = _last_bytes(self._path)
        self._compare(position)
        return self._position()

    def _position(self) -> Position:
        return {"at": self._at, "tail": [zlib.crc32(self._tail)]}

    def _compare(self, position: Position | None) -> None:
        """Refuse a file that is not the one that was read up to a position before."""
        if position and "tail" in position and position["tail"] != self._position()["tail"]:
            raise ConnectorError(
                f"{self._path}: is not the file that was read before; bring that one back, or begin anew with another state"
            )

    def _begin_text(self) -> None:
        if self._kind == "csv":
            self.format, self.columns = "csv", field_names(self._path)
        self._bytes = Bytes(self._path)
        self._inode = os.stat(self._path).st_ino
        skipped = 0
        if not self._at:
            beginning = self._bytes.read(CHUNK)
            self._at = skipped = _header(beginning, self._kind)
            self._tail = beginning[:skipped][-TAIL:]
            self._read += beginning[skipped:]
        while skipped < self._at:
            found = self._bytes.read(min(CHUNK, self._at - skipped))
            if not found:
                raise ConnectorError(f"{self._path}: is shorter than the state remembers; give the file that was read before")
            self._tail = (self._tail + found)[-TAIL:]
            skipped += len(found)

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

    def _next(self, most: int = LONGEST) -> Payload | None:
        return self._next_text(most) if self._blocks is None else self._next_block()

    def _next_block(self) -> Block | None:
        assert self._blocks is not None
        block = next(self._blocks, None)
        if block is None:
            self.ended = True
            return None
        self._at = _end(block)
        return block

    def _next_text(self, most: int) -> bytes | None:
        """Whole records, at most `most` bytes; at the end of a file that is not followed, also an unfinished line."""
        while True:
            end = min(most, last_record(self._kind, self._read)) if self._read else 0
            if end or len(self._read) >= most:
                return self._delivered(end or most)
            assert self._bytes is not None
            found = self._bytes.read(CHUNK)
            if not found:
                self._check_followed()
                self.ended = not self._follow and not self._read
                return self._delivered(len(self._read)) if self._read and not self._follow else None
            self._read += found
            if len(self._read) > LONGEST:
                raise ConnectorError(f"{self._path}: a record is longer than {LONGEST >> 20} MB; is this {self._kind}?")

    def _check_followed(self) -> None:
        """Refuse a followed file that was cut, or replaced by another of the same name."""
        if not self._follow:
            return
        try:
            now = os.stat(self._path)
        except OSError:
            now = None
        if now is None or now.st_ino != self._inode or now.st_size < self._at:
            raise ConnectorError(
                f"{self._path}: was replaced or cut while it was followed; append to it only, or begin anew with another state"
            )

    def _delivered(self, size: int) -> bytes:
        piece = bytes(memoryview(self._read)[:size])
        del self._read[:size]
        self._at += size
        self._tail = (self._tail + piece[-TAIL:])[-TAIL:]
        return piece

    def acknowledge(self, position: Position) -> None:
        """The file stays as it is."""

    @property
    def lag(self) -> int | None:
        if self._kind not in TEXTS or self._path.lower().endswith(".gz"):
            return None
        try:
            return max(os.path.getsize(self._path) - self._at, 0)
        except OSError:
            return None

    def close(self) -> None:
        if self._bytes:
            self._bytes.close()


def _end(block: Block) -> int:
    """The number of the row after a block, counting malformed rows too."""
    return 1 + max([*block.rows[-1:].tolist(), *(row for row, _ in block.bad)], default=-1)


def _last_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        file.seek(max(os.path.getsize(path) - TAIL, 0))
        return file.read()


def _header(beginning: bytes, kind: str) -> int:
    """How many bytes precede the first record."""
    mark = len(BOM) if beginning.startswith(BOM) else 0
    return mark + first_record(kind, beginning[mark:])


class FileSink(Sink):
    """Appends to a file. After a crash, the replay is compared with what the file holds after the checkpoint."""

    identity = ("path",)
    remembers = True

    class Settings(FrozenModel):
        path: Annotated[File, AfterValidator(_written)] = Field(description="the file to write to its end: .jsonl or .csv")

    def __init__(self, settings: Settings, repeats: bool = True, private: bool = False) -> None:
        """`repeats`: a replay writes the same bytes. `private`: only the owner may read the file."""
        self._path, self._repeats = str(settings.path), repeats
        self._mode = 0o600 if private else 0o666
        self._encoder = TextEncoder(kind(self._path))
        self._at = 0
        self._beyond = 0  # bytes in the file that the replay will write again
        self._file: Any = None

    def begin(self, mark: Position | None, sequence: int) -> None:
        try:
            self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, self._mode), "r+b", buffering=0)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConnectorError(f"{self._path}: another pipeline writes to it; name another file") from None
        except OSError as error:
            raise ConnectorError(f"{self._path}: cannot be written ({reason(error)}); check its folder") from None
        self._look(mark, os.fstat(self._file.fileno()).st_size)
        self._file.seek(self._at)

    def _look(self, mark: Position | None, size: int) -> None:
        """Compare the size of the file with the mark of a checkpoint."""
        if mark is None and size:
            raise ConnectorError(
                f"{self._path}: holds something that no state knows of; remove it, name another file, or bring its state back"
            )
        self._at = int(mark["at"]) if mark else 0
        if size < self._at:
            raise ConnectorError(f"{self._path}: is shorter than the state remembers; bring back the file that was written")
        self._beyond = size - self._at

    def probe(self, mark: Position | None, sequence: int) -> bool:
        there = os.path.exists(self._path)
        if not os.access(self._path if there else os.path.dirname(self._path) or os.curdir, os.W_OK):
            raise ConnectorError(f"{self._path}: cannot be written; check its folder, and the permissions")
        self._look(mark, os.path.getsize(self._path) if there else 0)
        return True

    def write(self, batch: pa.RecordBatch, sequence: int) -> None:
        if not len(batch):
            return
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
                self._at += len(there)
                self._beyond -= len(there)
                data = data[len(there) :]
            else:
                self._cut(there, data)
        while len(data):
            with self._guarded():
                done = self._file.write(data)
            self._at += done
            data = data[done:]

    def _guarded(self) -> AbstractContextManager[None]:
        return guarded(self._path, ConnectorError, "make room, and start again")

    def _cut(self, there: bytes, data: bytes | memoryview) -> None:
        """Remove what the replay will write again: after a power cut it is full of zeros."""
        same = next(i for i, (one, other) in enumerate(zip(there, bytes(data), strict=False)) if one != other)
        self._file.seek(self._at + same)
        if self._repeats and self._file.read().strip(b"\0"):
            raise ConnectorError(
                f"{self._path}: from byte {self._at + same} on it is not what the pipeline wrote; bring that file back, "
                "or begin anew with another file and another state"
            )
        self._file.truncate(self._at)
        self._file.seek(self._at)
        self._beyond = 0

    def caught_up(self, sequence: int) -> None:
        if self._beyond:
            raise ConnectorError(
                f"{self._path}: holds more than the state remembers, so the state is older than its output; "
                "bring the newest state back, or begin anew with another file and another state"
            )

    @property
    def mark(self) -> Position:
        return {"at": self._at}

    def make_durable(self) -> None:
        with self._guarded():
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file:
            self._file.close()
