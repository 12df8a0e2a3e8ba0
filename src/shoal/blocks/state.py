"""The engine's whole state, as arrays: what a compiled step reads and writes, and what a snapshot keeps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from shoal.blocks.domain import Domain
from shoal.blocks.groups import Groups
from shoal.blocks.nearest import Scratch
from shoal.blocks.release import Exits
from shoal.blocks.reuse import Reuse
from shoal.blocks.window import Window


class State(NamedTuple):
    domain: Domain
    window: Window
    groups: Groups
    reuse: Reuse
    exits: Exits
    scratch: Scratch
    rule: np.record  # k and the algorithm's own parameters
