"""Telemetry: the figures of a running stream, without any that describes a person."""

from shoal.telemetry.sample import cell
from shoal.telemetry.telemetry import HISTORY, RUNNING, STOPPED, Telemetry

__all__ = ["HISTORY", "RUNNING", "STOPPED", "Telemetry", "cell"]
