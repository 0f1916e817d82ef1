"""Heartbeats (D26): who does not answer has failed, and is asked on (hole 1)."""

from __future__ import annotations

import pytest

from auroral.dpc.monitor import UNREACHED, Monitor
from auroral.dpc.settings import Settings, WrongSettings
from auroral.dpc.states import State
from auroral.dpc.switching import Offer

STABLE = Offer(State.STABLE, True, 7)


def test_a_replica_that_is_killed_has_failed_after_more_than_p1_requests():
    monitor = Monitor(("a", "b"), Settings(bucket=0.1, bound=3))
    times = []
    for tick in range(10):
        now = tick * 0.1
        assert monitor.due(now) == ("a", "b")
        assert monitor.due(now + 0.05) == ()
        monitor.answered("b", {"s": STABLE})
        if tick < 2:
            monitor.answered("a", {"s": STABLE})
        times.append(monitor.offer("a", "s"))
    assert times == [STABLE] * 5 + [UNREACHED] * 5, "unanswered: those of 0.2, 0.3, 0.4, then more than three"
    assert monitor.answered("a", {"s": STABLE}), "that it answers again is news"
    assert monitor.offer("a", "s") == STABLE
    assert not monitor.answered("a", {"s": STABLE})


def test_a_broken_connection_is_not_waited_for():
    monitor = Monitor(("a",), Settings(bucket=0.1, bound=3))
    monitor.answered("a", {"s": STABLE})
    monitor.lost("a")
    assert monitor.of("s", ["a"]) == {"a": UNREACHED}
    assert monitor.due(0.0) == ("a",), "it is asked on, or it could never be found again"


def test_a_bound_that_leaves_no_time_to_notice_a_failure_is_refused():
    """D43."""
    with pytest.raises(WrongSettings, match=r"noticed after 2 s .* more than half of the bound of 3 s; next: a larger"):
        Settings(bucket=1, bound=3)
    assert Settings(bucket=1, bound=float("inf")).detection == 2


def test_news_is_what_decides_something():
    monitor = Monitor(("a",), Settings(bucket=0.1, bound=3))
    assert monitor.answered("a", {"s": Offer(State.STABLE, False, 3)})
    assert not monitor.answered("a", {"s": Offer(State.STABLE, False, 9, 4)}), "buckets come and go"
    assert monitor.offer("a", "s") == Offer(State.STABLE, False, 9, 4)
    assert monitor.answered("a", {"s": Offer(State.STABLE, True, 9)})
    assert monitor.answered("a", {"s": Offer(State.UP_FAILURE, True, 9)})
    assert monitor.answered("a", {"s": Offer(State.UP_FAILURE, True, 9), "t": STABLE})
    assert monitor.offer("a", "u") == UNREACHED


def test_how_far_a_stream_ever_was_is_remembered():
    monitor = Monitor(("a", "b"), Settings(bucket=0.1, bound=3))
    assert monitor.furthest("s") == 0
    monitor.answered("a", {"s": Offer(State.STABLE, True, 9)})
    monitor.answered("b", {"s": Offer(State.STABLE, True, 4)})
    assert monitor.furthest("s") == 9


def test_who_was_lost_is_reached_again_when_it_answers():
    monitor = Monitor(("a",), Settings(bucket=0.1, bound=3))
    assert monitor.reached("a"), "nothing is known against it"
    monitor.answered("a", {"s": STABLE})
    monitor.lost("a")
    assert not monitor.reached("a")
    assert monitor.answered("a", {"s": STABLE}) and monitor.reached("a")


def test_what_one_said_that_is_not_reached_any_more_does_not_count_but_that_it_spoke_does():
    monitor = Monitor(("a", "b"), Settings(bucket=0.1, bound=3))
    for peer in "ab":
        monitor.answered(peer, {"s": STABLE})
    monitor.lost("a")
    for tick in range(4):
        assert monitor.offer("b", "s") == STABLE
        monitor.due(tick * 0.1)
    assert [monitor.offer(peer, "s") for peer in "ab"] == [UNREACHED, UNREACHED]
    assert monitor.heard == {"a", "b"}
    monitor.answered("b", {"s": STABLE})
    assert monitor.of("s", "ab") == {"a": UNREACHED, "b": STABLE}
    monitor.rewire(("b",))
    assert monitor.heard == {"b"}
