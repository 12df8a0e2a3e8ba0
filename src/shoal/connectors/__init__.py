"""Sources and sinks of a pipeline: one file each, behind one interface."""

from shoal.connectors.connector import Delivery, Payload, Position, Sink, Source
from shoal.connectors.file import FileSink
from shoal.connectors.http_limits import ConnectionLimits, Listener
from shoal.connectors.protobuf_messages import compiled as compiled_schema
from shoal.connectors.registry import SINKS, SOURCES, connector_class
from shoal.connectors.rolling import Rolled
from shoal.connectors.schema_registry import Found
from shoal.connectors.settings import LocalPath, Secret, is_loopback, with_secrets
from shoal.connectors.table_columns import flat_table, plain_table

__all__ = [
    "SINKS", "SOURCES", "ConnectionLimits", "Delivery", "FileSink", "Found", "Listener", "LocalPath", "Payload", "Position",
    "Rolled", "Secret", "Sink", "Source", "compiled_schema", "connector_class", "flat_table", "is_loopback", "plain_table",
    "with_secrets",
]  # fmt: skip
