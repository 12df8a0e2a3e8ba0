"""Telemetry: the figures of a running stream, without any that describes a person."""

from shoal.telemetry.checks import Bound, Bounds
from shoal.telemetry.keeping import keeping
from shoal.telemetry.sample import cell
from shoal.telemetry.spans import SPANS
from shoal.telemetry.telemetry import HISTORY, RUNNING, STOPPED, Telemetry

__all__ = ["HISTORY", "RUNNING", "SPANS", "STOPPED", "Bound", "Bounds", "Telemetry", "cell", "keeping"]
