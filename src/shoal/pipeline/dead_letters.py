"""Dead letters: rejected records, by place and reason; the records themselves only encrypted."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shoal.anonymizer import Rejection
from shoal.connectors import Position
from shoal.connectors.file import FileSink
from shoal.errors import StateError
from shoal.formats.dialects import dumps
from shoal.formats.source import reason
from shoal.pipeline.pipeline_file import DeadLetters
from shoal.pipeline.vault import Damaged, Vault


class DeadLetterFile:
    """Appends a line a rejected record, once, also over crashes."""

    def __init__(self, settings: DeadLetters) -> None:
        self._vault = Vault(settings.encrypt.read()) if settings.encrypt else None
        encrypted = self._vault is not None
        self.sink = FileSink(FileSink.Settings(path=settings.file), repeats=not encrypted, private=encrypted)

    @property
    def wants_records(self) -> bool:
        return self._vault is not None

    def write(
        self, rejections: Sequence[Rejection], position: Position, at: float, records: Mapping[int, Mapping[str, Any]]
    ) -> None:
        place = {name: value for name, value in position.items() if isinstance(value, str | int | float)}
        moment = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")
        for rejection in rejections:
            letter = {
                "time": moment, "row": rejection.row, "field": rejection.field, "reason": rejection.reason,
                "position": place,
            }  # fmt: skip
            if self._vault and rejection.row in records:
                letter["record"] = _sealed(self._vault, dumps(records[rejection.row]))
            self.sink.append(dumps(letter).encode() + b"\n")


def opened(path: Path, secret: str) -> Iterator[dict[str, Any]]:
    """Dead letters with their records; one that is just being written is not there yet.

    Raises:
        StateError: the file cannot be read, the secret is another one, or a letter is damaged.
    """
    vault = Vault(secret)
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise StateError(f"{path}: cannot be read ({reason(error)}); run the pipeline first, or check the rights") from None
    for number, line in enumerate(lines, 1):
        try:
            letter = json.loads(line)
            if "record" in letter:
                letter["record"] = json.loads(b"".join(vault.opened(base64.b64decode(letter["record"]))))
        except (Damaged, ValueError):
            raise StateError(f"{path}: line {number} is damaged; bring an intact copy back") from None
        yield letter


def _sealed(vault: Vault, text: str) -> str:
    out = io.BytesIO()
    vault.sealing(out).add(text.encode())
    return base64.b64encode(out.getvalue()).decode()
