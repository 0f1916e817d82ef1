"""The changes of state of an output, and by what kind of event."""

from __future__ import annotations

from auroral.dpc.events import Received, Started, Woken
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.transitions import RECOVERING, UNBORN, Transition, Transitions
from auroral.dpc.values import Pong


def seen(found: Replica, all_: Transitions, event: Started | Received | Woken, now: float) -> list[Transition]:
    found.handle(event, now)
    return list(all_.of("q@a", found, event))


def test_each_change_is_told_once_with_what_it_came_by():
    spec = ReplicaSpec("q@a", {"s": ("S",)}, {"s": ("s",)}, {"o": OutputSpec("o", {"s": 1}, (frozenset("s"),), ())})
    found, all_ = Replica(spec, Settings(bucket=0.5, bound=3.0)), Transitions()
    (born,) = seen(found, all_, Started(), 0.0)
    assert (born.before, born.by) == (UNBORN, "Started")
    offered = Received("S", Pong({"s": Offer(State.STABLE)}, {}))
    assert seen(found, all_, offered, 0.1) == [Transition("o", born.after, "Pong", "STABLE")]
    assert seen(found, all_, offered, 0.2) == []
    # Nothing comes for longer than an input may be silent.
    assert seen(found, all_, Woken(), 9.0) == [Transition("o", "STABLE", "Woken", "FAILURE")]


def test_who_comes_back_recovers():
    spec = ReplicaSpec("q@a", {"s": ("S",)}, {"s": ("s",)}, {"o": OutputSpec("o", {"s": 1}, (frozenset("s"),), ())})
    found = Replica(spec, Settings(bucket=0.5, bound=3.0), recovering=True)
    assert [one.after for one in seen(found, Transitions(), Started(), 0.0)] == [RECOVERING]
