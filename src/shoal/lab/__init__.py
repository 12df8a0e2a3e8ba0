"""The lab: find the right policy by trying, on a sample of the data."""

from shoal.lab.form import Form, FormField, Long, Message, Role, Short
from shoal.lab.lab import Lab
from shoal.lab.leaves import Rule
from shoal.lab.price import prices
from shoal.lab.reading import Reading
from shoal.lab.upload import WHOLE
from shoal.lab.worker import Superseded

__all__ = ["WHOLE", "Form", "FormField", "Lab", "Long", "Message", "Reading", "Role", "Rule", "Short", "Superseded", "prices"]
