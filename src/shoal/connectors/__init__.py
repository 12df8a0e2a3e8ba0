"""Sources and sinks of a pipeline: one file each, behind one interface."""

from shoal.connectors.connector import Delivery, Payload, Position, Sink, Source
from shoal.connectors.file import FileSink
from shoal.connectors.http_limits import ConnectionLimits
from shoal.connectors.registry import SINKS, SOURCES, connector_class
from shoal.connectors.settings import LocalPath, Secret, is_loopback

__all__ = [
    "SINKS", "SOURCES", "ConnectionLimits", "Delivery", "FileSink", "LocalPath", "Payload", "Position", "Secret", "Sink",
    "Source", "connector_class", "is_loopback",
]  # fmt: skip
