"""Avro's binary encoding into Arrow columns, by a compiled loop; and tuples into it."""

from shoal.formats.avro.decoder import Decoder
from shoal.formats.avro.program import Unsuited

__all__ = ["Decoder", "Unsuited"]
