"""The anonymizer: push, push_batch, tick, flush, snapshot, restore."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shoal.anonymizer.anonymizer import Anonymizer
from shoal.anonymizer.engine import UserCounts
from shoal.anonymizer.kernels import compile_kernels, has_machine_code
from shoal.anonymizer.secret import secret
from shoal.anonymizer.singled_out import as_written
from shoal.anonymizer.snapshot import Snapshot, streamed
from shoal.anonymizer.stats import Drift, FilterStats, Stats
from shoal.columns import Rejection

if TYPE_CHECKING:
    from shoal.anonymizer.filter import Filter
    from shoal.anonymizer.remote_lane import RemoteLane, Result
    from shoal.anonymizer.split_tree import SplitTree, learned_tree, sample_size
    from shoal.anonymizer.traced import TRACE, TRACE_TYPE
    from shoal.anonymizer.transfer import Transfer
    from shoal.anonymizer.windowed import Windowed

__all__ = [
    "TRACE",
    "TRACE_TYPE",
    "Anonymizer",
    "Drift",
    "Filter",
    "FilterStats",
    "Rejection",
    "RemoteLane",
    "Result",
    "Snapshot",
    "SplitTree",
    "Stats",
    "Transfer",
    "UserCounts",
    "Windowed",
    "as_written",
    "compile_kernels",
    "has_machine_code",
    "learned_tree",
    "sample_size",
    "secret",
    "streamed",
]  # fmt: skip

_LAZY = {  # these load kernels
    "Filter": "filter", "RemoteLane": "remote_lane", "Result": "remote_lane", "SplitTree": "split_tree",
    "learned_tree": "split_tree", "sample_size": "split_tree", "Transfer": "transfer", "TRACE": "traced",
    "TRACE_TYPE": "traced", "Windowed": "windowed",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
