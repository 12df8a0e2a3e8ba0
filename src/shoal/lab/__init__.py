"""The lab: find the right policy by looking, on a sample of the data."""

from shoal.lab.desk import Superseded
from shoal.lab.lab import Lab
from shoal.lab.message import Message
from shoal.lab.sheet import Entry, Sheet

__all__ = ["Entry", "Lab", "Message", "Sheet", "Superseded"]
