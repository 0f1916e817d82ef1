"""What buffers with a limit must have room for (D72)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.dpc.keeping import must_have_room
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings, WhenFull, WrongSettings
from auroral.dpc.sunion import OutputSpec

BLOCKING = Settings(bucket=0.5, bound=3.0, when_full=WhenFull.BLOCK, snapshot_every=8)


def output(stream: str, folds: bool = False, **reads: int) -> OutputSpec:
    return OutputSpec(stream, reads, (frozenset(reads),), (), folds=folds)


@pytest.mark.parametrize(
    ("outputs", "reads_again"),
    [
        ([output("o", s=1)], 0),
        ([output("o", s=5, t=3)], 4),
        ([output("o", s=5), output("p", o=3)], 6),
        ([output("o", s=5), output("p", s=9)], 8),
        ([output("o", folds=True, s=1), output("p", o=3)], 10),
    ],
    ids=["no window", "the longest", "one after the other", "beside one another", "a fold and its snapshot"],
)
def test_where_full_buffers_block_there_must_be_room_for_all_that_is_read_again(outputs, reads_again):
    found = {one.stream: one for one in outputs}
    must_have_room(found, replace(BLOCKING, most_kept=reads_again + 1))
    with pytest.raises(WrongSettings, match=rf"allowed: more than {reads_again} buckets of"):
        must_have_room(found, replace(BLOCKING, most_kept=reads_again))
    must_have_room(found, BLOCKING)
    must_have_room(found, replace(BLOCKING, most_kept=reads_again, when_full=WhenFull.LOSE))


def test_a_replica_refuses_what_would_stop_it():
    spec = ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output("o", s=20)})
    with pytest.raises(WrongSettings, match="at most 12 buckets are kept, and all that is computed from s reads 19"):
        Replica(spec, replace(BLOCKING, most_kept=12))
