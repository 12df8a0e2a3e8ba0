"""A JSON array of objects as JSON lines, element by element, in bounded memory."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator

from shoal.errors import InputError
from shoal.formats.reading.reader import UTF8, Source

CHUNK = 1 << 20
_BLANK = " \t\r\n"
_MARK = "\ufeff"
_DECODER = json.JSONDecoder(parse_int=str, parse_float=str)
_REMEDY = "correct it there, or write one record per line and name it .jsonl"


class ArrayLines:
    """Reads as a `Source` does. A file that begins with `[` gives one line per element, any other its own bytes."""

    def __init__(self, source: Source, longest: int) -> None:
        self.path = source.path
        self._source, self._longest = source, longest
        self._decoder = codecs.getincrementaldecoder(UTF8)(errors="surrogateescape")
        self._text, self._at, self._ended, self._count = "", 0, False, 0
        self._ready = bytearray()
        self._lines: Iterator[str] | None = None

    def readinto(self, buffer: memoryview) -> int:
        if self._lines is None:
            self._lines = self._elements() if self._next() == "[" else self._rest()
        while len(self._ready) < len(buffer) and (line := next(self._lines, None)) is not None:
            self._ready += line.encode(errors="surrogateescape")
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        del self._ready[:count]
        return count

    def progress(self) -> tuple[int, int | None]:
        return self._source.progress()

    def close(self) -> None:
        self._source.close()

    def _more(self) -> None:
        read = self._source.read(max(CHUNK, len(self._text) - self._at))  # twice as much for a long element
        self._ended = not read
        self._text, self._at = self._text[self._at :] + self._decoder.decode(read, final=self._ended), 0

    def _next(self) -> str:
        """The text from the next character on that is not blank; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK + _MARK:
                self._at += 1
            if self._at < len(self._text) or self._ended:
                return self._text[self._at : self._at + 1]
            self._more()

    def _rest(self) -> Iterator[str]:
        first = self._text[self._at :].partition("\n")[0].strip(_BLANK)
        if first == "{" or (first.endswith((",", "[", "{")) and first.startswith("{")):
            raise InputError(
                f"{self.path}: is a JSON object over several lines, not an array or lines of records; take the records out: "
                "jq -c '.data[]' in.json > out.jsonl if they are under data, jq -c . in.json > out.jsonl if each is an object"
            )
        while self._text or not self._ended:
            yield self._text[self._at :]
            self._text, self._at = "", 0
            self._more()

    def _elements(self) -> Iterator[str]:
        self._at += 1
        if self._next() == "]":
            self._at += 1
        else:
            while True:
                yield self._element()
                mark = self._next()
                self._at += 1
                if mark == "]":
                    break
                if mark != ",":
                    raise self._malformed("a comma or ] is missing after it" if mark else "the file ends after it")
                self._next()
        if self._next():
            raise InputError(f"{self.path}: goes on after the end of its array; {_REMEDY}")

    def _element(self) -> str:
        """The next element as a line; its own line breaks are between tokens, since none can be inside a text."""
        self._count += 1
        while True:
            try:
                end = _DECODER.raw_decode(self._text, self._at)[1]
                if end < len(self._text) or self._ended:  # or else a number may go on
                    break
            except (ValueError, RecursionError):
                if self._ended or len(self._text) - self._at > self._longest:
                    raise self._malformed("it is no JSON, is cut short or too long") from None
            self._more()
        line = self._text[self._at : end].replace("\r", " ").replace("\n", " ")
        self._at = end
        return f"{line}\n"

    def _malformed(self, what: str) -> InputError:
        return InputError(f"{self.path}, element {self._count} of its array: {what}; {_REMEDY}")
