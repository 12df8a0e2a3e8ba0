"""Dead letters: rejected records, by place and reason; the records themselves only encrypted."""

from __future__ import annotations

import base64
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.anonymizer import Rejection
from shoal.connectors import FileSink, Position
from shoal.errors import StateError
from shoal.formats import Block, dumps, reason
from shoal.pipeline.encryption import Damaged, FileCipher
from shoal.pipeline.pipeline_file import DeadLetters

LARGEST = 64 << 10  # bytes of a record that a letter holds


class DeadLetterFile:
    """Appends one line per rejected record, exactly once also over crashes. Rows and lines of the input count from 1.

    Beyond so many letters a second, rejected records are summed up: one line for each field and reason, when the second is
    over. A second is one of the journal, so that a replay writes the same lines.
    """

    def __init__(self, settings: DeadLetters) -> None:
        self._cipher = FileCipher(settings.encrypt.read()) if settings.encrypt else None
        encrypted = self._cipher is not None
        self.sink = FileSink(FileSink.Settings(path=settings.file), repeats=not encrypted, private=encrypted)
        self._most = settings.most
        self._second, self._written = 0, 0  # how many letters were written in this second
        self._sums: dict[tuple[str | None, str], dict[str, Any]] = {}

    def write(self, rejections: Sequence[Rejection], block: Block, position: Position, at: float) -> None:
        """Note the rejected records of a block; `position` is that of the source after it, `at` the time of day."""
        self.sink.watch()
        if math.floor(at) != self._second:
            self.sum_up()
            self._second, self._written = math.floor(at), 0
        single = rejections[: self._most - self._written]
        self._written += len(single)
        records = _records(block, single) if self._cipher else {}
        place = {name: value for name, value in position.items() if isinstance(value, str | int | float)}
        moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        for rejection in block.placed(single):
            letter: dict[str, Any] = {
                "time": moment, "row": rejection.row + 1, **({"line": rejection.line} if rejection.line else {}),
                "field": rejection.field, "reason": rejection.reason, "position": place,
            }  # fmt: skip
            if self._cipher and rejection.row in records:
                letter["record"] = _encrypted(self._cipher, records[rejection.row])
            self._append(letter)
        for rejection in rejections[len(single) :]:
            row = rejection.row + 1
            new = {"time": moment, "row": row, "last": row, "count": 0, "position": place}
            found = self._sums.setdefault((rejection.field, rejection.reason), new)
            found |= {"last": max(found["last"], row), "count": found["count"] + 1, "position": place}

    @property
    def has_sums(self) -> bool:
        """Whether rejected records were summed up, and not written yet."""
        return bool(self._sums)

    def owes(self, at: float) -> bool:
        """Whether there are sums of a second that is over at this time of day."""
        return self.has_sums and math.floor(at) != self._second

    def sum_up(self) -> None:
        """Write the sums of the second that is over."""
        for (field, why), letter in self._sums.items():
            self._append({**letter, "field": field, "reason": why})
        self._sums = {}

    def _append(self, letter: Mapping[str, Any]) -> None:
        self.sink.append(dumps(letter).encode() + b"\n")

    @property
    def saved(self) -> Any:
        """What a checkpoint keeps of the second that is not over."""
        return [self._second, self._written, [[*key, letter] for key, letter in self._sums.items()]]

    def restore(self, saved: Any) -> None:
        self._second, self._written, sums = saved
        self._sums = {(field, reason): letter for field, reason, letter in sums}


def read_dead_letters(path: Path, secret: str) -> Iterator[dict[str, Any]]:
    """Dead letters with their decrypted records; a line that is still being written is left out.

    Raises StateError if the file cannot be read, the secret is another one, or a letter is damaged.
    """
    cipher = FileCipher(secret)
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise StateError(f"{path}: cannot be read ({reason(error)}); run the pipeline first, or check the rights") from None
    for number, line in enumerate(lines, 1):
        try:
            letter = json.loads(line)
            if "record" in letter:
                letter["record"] = json.loads(b"".join(cipher.pieces(base64.b64decode(letter["record"]))))
        except (Damaged, ValueError):
            raise StateError(f"{path}: line {number} is damaged; restore an intact copy") from None
        yield letter


def _records(block: Block, rejections: Sequence[Rejection]) -> Mapping[int, str]:
    """The rejected records that are readable and not too large, by row."""
    places = {int(row): i for i, row in enumerate(block.rows)}
    found = {each.row: block.batch.slice(places[each.row], 1) for each in rejections if each.row in places}
    texts = {row: dumps(record) for row, piece in found.items() if (record := _record(piece)) is not None}
    return {row: text for row, text in texts.items() if len(text) <= LARGEST}


def _record(piece: pa.RecordBatch) -> Mapping[str, Any] | None:
    try:
        return piece.to_pylist()[0]
    except (pa.ArrowException, OverflowError, ValueError):  # Python has no such value, for example the year 10000
        return None


def _encrypted(cipher: FileCipher, text: str) -> str:
    out = io.BytesIO()
    cipher.writer(out).add(text.encode())
    return base64.b64encode(out.getvalue()).decode()
