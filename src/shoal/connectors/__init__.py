"""Sources and sinks of a pipeline: one small file each, behind one interface."""

from shoal.connectors.connector import Delivery, Payload, Position, Sink, Source
from shoal.connectors.secret import Secret

__all__ = ["Delivery", "Payload", "Position", "Secret", "Sink", "Source"]
