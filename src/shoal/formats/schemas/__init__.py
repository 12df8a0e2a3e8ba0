"""Schemas of published tuples, and tuples in their encodings."""

from shoal.formats.schemas.encoder import RecordEncoder, record_encoder

__all__ = ["RecordEncoder", "record_encoder"]
