"""The lab: find the right policy by trying, on a sample of the data."""

from shoal.lab.form import Form, FormField, Message, Role, Short
from shoal.lab.lab import Lab
from shoal.lab.reading import Reading
from shoal.lab.upload import WHOLE
from shoal.lab.worker import Superseded

__all__ = ["WHOLE", "Form", "FormField", "Lab", "Message", "Reading", "Role", "Short", "Superseded"]
