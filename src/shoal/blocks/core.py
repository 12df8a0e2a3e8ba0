"""The part of the state that all algorithms have in common.

A kernel that takes only a `Core` is compiled once for all algorithms. `blocks.state` explains the arguments."""

from __future__ import annotations

from typing import NamedTuple

from shoal.blocks.domain import Domain
from shoal.blocks.groups import Groups
from shoal.blocks.handover import Handover
from shoal.blocks.nearest import Scratch
from shoal.blocks.release import Exits
from shoal.blocks.reuse import Reuse
from shoal.blocks.window import Window
from shoal.compiled import spelled_out


class Core(NamedTuple):
    domain: Domain
    window: Window
    groups: Groups
    reuse: Reuse
    exits: Exits
    scratch: Scratch
    handover: Handover


@spelled_out
def core(s):
    return Core(s.domain, s.window, s.groups, s.reuse, s.exits, s.scratch, s.handover)
