"""Dead letters: rejected records, by place and reason; the records themselves only encrypted."""

from __future__ import annotations

import base64
import io
import json
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


class DeadLetterFile:
    """Appends one line per rejected record, exactly once also over crashes."""

    def __init__(self, settings: DeadLetters) -> None:
        self._cipher = FileCipher(settings.encrypt.read()) if settings.encrypt else None
        encrypted = self._cipher is not None
        self.sink = FileSink(FileSink.Settings(path=settings.file), repeats=not encrypted, private=encrypted)

    def write(self, rejections: Sequence[Rejection], block: Block, position: Position, at: float) -> None:
        """One letter per rejected record of a block; `position` is that of the source after it, `at` the time of day."""
        records = _records(block, rejections) if self._cipher else {}
        place = {name: value for name, value in position.items() if isinstance(value, str | int | float)}
        moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        for rejection in rejections:
            letter = {
                "time": moment, "row": rejection.row, "field": rejection.field, "reason": rejection.reason,
                "position": place,
            }  # fmt: skip
            if self._cipher and rejection.row in records:
                letter["record"] = _encrypted(self._cipher, dumps(records[rejection.row]))
            self.sink.append(dumps(letter).encode() + b"\n")


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
            raise StateError(f"{path}: line {number} is damaged; bring an intact copy back") from None
        yield letter


def _records(block: Block, rejections: Sequence[Rejection]) -> Mapping[int, Mapping[str, Any]]:
    """The rejected records that are readable, by row."""
    places = {int(row): i for i, row in enumerate(block.rows)}
    found = {each.row: block.batch.slice(places[each.row], 1) for each in rejections if each.row in places}
    return {row: record for row, piece in found.items() if (record := _record(piece)) is not None}


def _record(piece: pa.RecordBatch) -> Mapping[str, Any] | None:
    try:
        return piece.to_pylist()[0]
    except (pa.ArrowException, OverflowError, ValueError):  # Python has no such value, for example the year 10000
        return None


def _encrypted(cipher: FileCipher, text: str) -> str:
    out = io.BytesIO()
    cipher.writer(out).add(text.encode())
    return base64.b64encode(out.getvalue()).decode()
