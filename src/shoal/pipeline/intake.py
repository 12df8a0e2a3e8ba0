"""What a pipeline takes in: the blocks of a delivery, and the ticks that came between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from shoal.connectors import Payload, Source
from shoal.formats import Block, Parser, parser
from shoal.pipeline.journal import Entry


def with_ticks(entries: Iterable[Entry]) -> Iterator[tuple[Entry, list[Entry]]]:
    """Each entry, with the ticks that came while it was taken in."""
    current: Entry | None = None
    ticks: list[Entry] = []
    for entry in entries:
        if entry.kind == "tick" and entry.position is not None:
            ticks.append(entry)
            continue
        if current:
            yield current, ticks
        current, ticks = entry, []
    if current:
        yield current, ticks


class Intake:
    """Turns the payloads of a source into blocks of records, numbered from the beginning of the stream."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parser: Parser | None = None
        self._before = 0  # records before the parser began to count

    def blocks(self, payloads: Sequence[Payload], received: int) -> Iterator[Block]:
        """The records of a delivery, after `received` others. Blocks of a table are numbered already."""
        if payloads and isinstance(payloads[0], Block):
            for block in payloads:
                if isinstance(block, Block):
                    yield block if self._source.numbers_blocks else _moved(block, received)
            return
        if self._parser is None:
            source, self._before = self._source, received
            self._parser = parser(source.format, source.fields, source.passed, source.columns, source.dialect)
        for block in self._parser.blocks([payload for payload in payloads if isinstance(payload, bytes)]):
            yield _moved(block, self._before, self._source.lines_before)


def _moved(block: Block, rows: int, lines: int | None = None) -> Block:
    """The block, so many rows and lines later; without lines if those before it are not known."""
    return block._replace(
        rows=block.rows + rows,
        bad=[(row + rows, reason) for row, reason in block.bad],
        lines=None if lines is None or block.lines is None else block.lines.moved(rows, lines),
    )
