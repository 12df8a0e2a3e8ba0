"""The blocks that algorithms are built of: window, groups, neighbours, reuse set, the door; and the state they make up."""

from shoal.blocks.arrival import is_at_end, is_due, is_open, next_due, take_in
from shoal.blocks.batch import ANNOUNCED, ARRIVAL, ELSEWHERE, Batch, among_others, blank, concat
from shoal.blocks.cells import metric_of
from shoal.blocks.core import Core, core
from shoal.blocks.distance import by_shared, by_values, distance, jaccard, rough_distances
from shoal.blocks.diversity import Diversity, count_shown, help_together, is_diverse, new_diversity, unmet, withhold_unmet
from shoal.blocks.domain import Domain, common_ancestor, domain, weight_of
from shoal.blocks.groups import EXTENDED, MAYBE, Groups, generalize, group_loss, groups, impute, loss, mean_loss, shows_any
from shoal.blocks.handover import hand_over, hand_over_all
from shoal.blocks.lock import acquire, free, lock
from shoal.blocks.neighbours import ANY, choose_nearest, choose_neighbours, completed
from shoal.blocks.outcome import call_release_chosen, keep_for_reuse, release_chosen
from shoal.blocks.partitions import (
    is_apart,
    measure_likeness,
    measure_partitions,
    merge,
    merge_similar,
    only_union,
    persons_within,
)
from shoal.blocks.release import CLUSTER, OUTCOMES, REUSE, SUPPRESSED, TALLY, release
from shoal.blocks.reuse import best_cover, call_best_cover, can_serve, renew, row_of
from shoal.blocks.rows import hide_row, one_of_each, show_row
from shoal.blocks.sets import bit_of, set_loss
from shoal.blocks.state import Arrays, State, new_state, restored, saved, sharing, with_exits, with_handover, with_slots
from shoal.blocks.window import BUFFER, STRIDE, TIME, even, in_order, tick

__all__ = [
    "ANNOUNCED", "ANY", "ARRIVAL", "BUFFER", "CLUSTER", "ELSEWHERE", "EXTENDED", "MAYBE", "OUTCOMES", "REUSE", "STRIDE",
    "SUPPRESSED", "TALLY", "TIME", "Arrays", "Batch", "Core", "Diversity", "Domain", "Groups", "State", "acquire",
    "among_others", "best_cover", "bit_of", "blank", "by_shared", "by_values", "call_best_cover", "call_release_chosen",
    "can_serve", "choose_nearest", "choose_neighbours", "common_ancestor", "completed", "concat", "core", "count_shown",
    "distance", "domain", "even", "free", "generalize", "group_loss", "groups", "hand_over", "hand_over_all", "help_together",
    "hide_row", "impute", "in_order", "is_apart", "is_at_end", "is_diverse", "is_due", "is_open", "jaccard", "keep_for_reuse",
    "lock", "loss", "mean_loss", "measure_likeness", "measure_partitions", "merge", "merge_similar", "metric_of",
    "new_diversity", "new_state", "next_due", "one_of_each", "only_union", "persons_within", "release", "release_chosen",
    "renew", "restored", "rough_distances", "row_of", "saved", "set_loss", "sharing", "show_row", "shows_any", "take_in",
    "tick", "unmet", "weight_of", "with_exits", "with_handover", "with_slots", "withhold_unmet",
]  # fmt: skip
