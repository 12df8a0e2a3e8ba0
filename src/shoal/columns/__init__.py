"""Records to codes and back: Arrow batches to the arrays that kernels take, and what kernels release to Arrow batches."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.columns.budget import Budget
from shoal.columns.convert import Numbers, column, numbers, plain, texts, times, unreadable, year_numbers
from shoal.columns.encode import Encoded, Encoder, Plain, event_times
from shoal.columns.fingerprint import Keys, keys_of, one_word
from shoal.columns.floats import only_used
from shoal.columns.periods import periods
from shoal.columns.publish import Publisher
from shoal.columns.rejection import Rejection, Rejections
from shoal.columns.shape import shape
from shoal.columns.stable import PERSON, StablePublisher
from shoal.columns.time_bounds import TimeBounds

if TYPE_CHECKING:
    from shoal.columns.observations import ObservationEncoder, ObservationPublisher, Observations
    from shoal.columns.pseudonym import Pseudonyms

__all__ = [
    "PERSON", "Budget", "Encoded", "Encoder", "Keys", "Numbers", "ObservationEncoder", "ObservationPublisher", "Observations",
    "Plain", "Pseudonyms", "Publisher", "Rejection", "Rejections", "StablePublisher", "TimeBounds", "column", "event_times",
    "keys_of", "numbers", "one_word", "only_used", "periods", "plain", "shape", "texts", "times", "unreadable", "year_numbers",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the names that only z-anonymity needs at their first use, since the import takes a while."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"shoal.columns.{'pseudonym' if name == 'Pseudonyms' else 'observations'}"), name)
