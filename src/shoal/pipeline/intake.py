"""From what a source delivers to blocks of records, numbered from the beginning of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shoal.connectors import Payload, Source
from shoal.formats import Block, Parser, parser


class Intake:
    """Reads payloads as the source's format says."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._parser: Parser | None = None
        self._before = 0  # records that came before the parser began to count

    def blocks(self, payloads: Sequence[Payload], received: int) -> Iterator[Block]:
        """The records of a delivery, before which so many were received; those of tables come as blocks that are numbered."""
        if payloads and isinstance(payloads[0], Block):
            yield from (payload for payload in payloads if isinstance(payload, Block))
            return
        if self._parser is None:
            source, self._before = self._source, received
            self._parser = parser(source.format, source.fields, source.passed, source.columns)
        for block in self._parser.blocks([payload for payload in payloads if isinstance(payload, bytes)]):
            bad = [(row + self._before, reason) for row, reason in block.bad]
            yield block._replace(rows=block.rows + self._before, bad=bad)
