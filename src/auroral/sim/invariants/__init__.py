"""The guarantees, one function each: what a run of the simulation must keep, and the words for what it broke.

Each takes a run with all that was seen of it. Those that need nothing of what comes later are judged as it goes, the others when it
has ended. An invariant excuses only what the design says is out of reach, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from auroral.sim.invariants.bounds import (
    every_bucket_comes,
    first_suspends,
    soon_without_failures,
    stable_in_time,
    stable_where_it_can_be,
    within_the_bound,
)
from auroral.sim.invariants.buffers import (
    buffers_are_bounded,
    nothing_is_hoarded,
    only_what_has_no_room_is_lost,
    what_is_asked_for_is_kept,
)
from auroral.sim.invariants.replicas import (
    changes_hold,
    moves_end,
    mute_until_right,
    nobody_falls_behind,
    one_is_read,
    one_keeps_answering,
    one_owner,
    promises_hold,
    turns_are_granted,
    turns_come,
)
from auroral.sim.invariants.stable import (
    all_is_corrected,
    every_row_is_accounted_for,
    nothing_is_lost_unless_so_set,
    replicas_agree,
    stable_in_order,
    stable_is_right,
    tentative_is_corrected,
)
from auroral.sim.invariants.tentative import (
    constraints_hold,
    coverage_is_right,
    no_guesses_unless_so_set,
    tentative_is_right,
    views_are_right,
)
from auroral.sim.invariants.tuples import tuples_are_right
from auroral.sim.seen import Run

Invariant = Callable[[Run], Iterator[str]]

INVARIANTS: tuple[Invariant, ...] = (
    stable_in_order,
    stable_is_right,
    all_is_corrected,
    tentative_is_corrected,
    every_row_is_accounted_for,
    nothing_is_lost_unless_so_set,
    replicas_agree,
    tuples_are_right,
    views_are_right,
    tentative_is_right,
    coverage_is_right,
    constraints_hold,
    no_guesses_unless_so_set,
    soon_without_failures,
    within_the_bound,
    every_bucket_comes,
    first_suspends,
    stable_where_it_can_be,
    stable_in_time,
    nobody_falls_behind,
    mute_until_right,
    one_keeps_answering,
    one_is_read,
    turns_are_granted,
    turns_come,
    one_owner,
    moves_end,
    changes_hold,
    promises_hold,
    what_is_asked_for_is_kept,
    nothing_is_hoarded,
    buffers_are_bounded,
    only_what_has_no_room_is_lost,
)
"""That two runs of one seed are the same is the remaining one: `simulate.same_again`."""

WHERE_ALL_HEALS: tuple[Invariant, ...] = (
    all_is_corrected,
    tentative_is_corrected,
    tuples_are_right,
    moves_end,
    changes_hold,
)
"""D78: these are not judged where something fails to the end."""
