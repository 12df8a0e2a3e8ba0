"""The blocks that algorithms are built of: window, groups, neighbours, reuse set, the door; and the state they make up."""

from shoal.blocks.diversity import Diversity, new_diversity
from shoal.blocks.handover import hand_over_all
from shoal.blocks.release import OUTCOMES, TALLY
from shoal.blocks.state import Arrays, State, new_state, restored, saved, sharing, with_exits, with_handover, with_slots
from shoal.blocks.window import TIME, tick

__all__ = [
    "OUTCOMES", "TALLY", "TIME", "Arrays", "Diversity", "State", "hand_over_all", "new_diversity", "new_state", "restored",
    "saved", "sharing", "tick", "with_exits", "with_handover", "with_slots",
]  # fmt: skip
