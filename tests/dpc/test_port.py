"""Versions of buckets as they come to an input (D16, D48, D59, D60)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from auroral.dpc import port as module
from auroral.dpc.coverage import NOTHING, Coverage, Level
from auroral.dpc.events import Effect, Report, Send
from auroral.dpc.monitor import Monitor
from auroral.dpc.port import Port
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Feed, Lane, Offer, choose
from auroral.dpc.values import Confirm, Content, Gap, Stable, Subscribe, Tentative, Unsubscribe, Want

SETTINGS = Settings(bucket=0.5, bound=5)


def port(settings: Settings = SETTINGS) -> Port:
    found = Port("s", ("a", "b"), settings, ("x",))
    list(found.switch({"a": Offer(State.STABLE), "b": Offer(State.STABLE)}, 1.0))
    return found


def stable(begin: int, *hashes: int) -> Stable:
    return Stable("s", 1, begin, tuple(Content(hash, 1) for hash in hashes))


def tentative(bucket: int, hash: int, held: float = 0.0, closed: bool = True) -> Tentative:
    return Tentative("s", 1, bucket, Content(hash, 1), closed, held, NOTHING)


def all_of(effects: Iterator[Effect]) -> list[Effect]:
    return list(effects)


def test_stable_takes_the_place_of_tentative_and_stays():
    """Hole 11: what is tentative and comes late is left out, and reported."""
    found = port()
    all_of(found.take_tentative("a", tentative(0, 20), 1.0))
    assert found.best(0) == Content(20, 1) and found.frontier == 0
    all_of(found.take_stable(stable(0, 10), 1.1))
    assert found.best(0) == Content(10, 1) and found.frontier == 1
    assert all_of(found.take_tentative("a", tentative(0, 21), 1.2)) == [Report("tentative after stable", "s")]
    assert all_of(found.take_stable(stable(0, 10), 1.3)) == [Report("stable again", "s")]
    assert found.best(0) == Content(10, 1)


def test_stable_buckets_that_are_ahead_wait_for_those_between():
    found = port()
    all_of(found.take_stable(stable(2, 12), 1.0))
    assert (found.frontier, found.best(2)) == (0, Content(12, 1))
    all_of(found.take_stable(stable(0, 10, 11), 1.0))
    assert found.frontier == 3


def test_what_is_confirmed_is_stable_and_another_version_is_asked_for():
    found = port()
    all_of(found.take_tentative("a", tentative(0, 20), 1.0))
    all_of(found.take_tentative("a", tentative(1, 21), 1.0))
    assert all_of(found.take_confirm("a", Confirm("s", 1, 0, (20, 99)), 1.1)) == [Send("a", Want("s", 1, 1))]
    assert found.frontier == 1


def test_the_time_of_a_bucket_runs_from_what_passes_it_less_what_it_was_held():
    found = port()
    all_of(found.take_tentative("a", tentative(2, 22, held=0.4), 1.0))
    assert found.origin == {0: 0.6, 1: 0.6, 2: 0.6}
    all_of(found.take_tentative("a", tentative(1, 21), 1.1))
    assert found.origin[1] == 0.6


def test_coverage_of_what_is_there():
    found = port()
    all_of(found.take_stable(stable(0, 10), 1.0))
    given = Coverage.of(["x"], 1, Level.PARTIAL)
    all_of(found.take_tentative("a", Tentative("s", 1, 1, Content(1, 1), False, 0.0, given), 1.0))
    assert [found.coverage(b).level("x") for b in range(3)] == [Level.COMPLETE, Level.PARTIAL, Level.MISSING]
    assert not found.closed(1), "more may come"


def test_switching_names_what_is_held():
    """D32, D33: the next replica goes on where the last one stopped."""
    found = port()
    all_of(found.take_stable(stable(0, 10, 11), 1.0))
    all_of(found.take_tentative("a", tentative(2, 22), 1.0))
    effects = all_of(found.switch({"a": Offer(State.UP_FAILURE), "b": Offer(State.STABLE)}, 1.0))
    assert effects == [Send("a", Unsubscribe("s", 1)), Send("b", Subscribe("s", 2, Lane.BOTH, 2, True))]
    assert found.serves("b", 2) and not found.serves("a", 1)
    assert all_of(found.switch({"a": Offer(State.UP_FAILURE), "b": Offer(State.STABLE)}, 1.0)) == []


def test_corrections_in_the_background():
    """D59: what is new from one replica, corrections from another; from one that gives both, in one subscription."""
    found = port()
    effects = all_of(found.switch({"a": Offer(State.UP_FAILURE), "b": Offer(State.STABILIZATION)}, 1.0))
    assert effects == [
        Send("b", Subscribe("s", 2, Lane.CORRECT, 0, False)),
    ]
    effects = all_of(found.switch({"a": Offer(State.FAILURE), "b": Offer(State.STABILIZATION, fresh=True)}, 1.0))
    assert effects == [Send("a", Unsubscribe("s", 1)), Send("b", Subscribe("s", 3, Lane.BOTH, 0, False))]


def test_when_all_is_corrected_who_gave_the_corrections_is_read_alone():
    """Hole 4: the feed of what was tentative is given up, and not that of the corrections."""
    found = port()
    all_of(found.switch({"a": Offer(State.UP_FAILURE), "b": Offer(State.STABILIZATION)}, 1.0))
    assert set(found.lanes) == {"a", "b"}
    effects = all_of(found.switch({"a": Offer(State.UP_FAILURE), "b": Offer(State.STABLE)}, 1.1))
    assert effects == [Send("a", Unsubscribe("s", 1)), Send("b", Subscribe("s", 3, Lane.BOTH, 0, False))]
    assert (found.curr, found.bck) == (Feed("b", Lane.BOTH), None)


def test_silence_is_a_failure_and_boundaries_without_rows_are_none():
    """D27."""
    found, monitor = port(), Monitor(("a", "b"), SETTINGS)
    for producer in "ab":
        monitor.answered(producer, {"s": Offer(State.STABLE)})
    for bucket in range(20):
        all_of(found.take_stable(stable(bucket, 0), bucket * 0.5))
        assert not found.failed(monitor, bucket * 0.5 + 0.4)
    assert not found.failed(monitor, 9.5 + 1.5)
    assert found.failed(monitor, 9.5 + 1.6)
    monitor.answered("a", {"s": Offer(State.UP_FAILURE)})
    assert found.failed(monitor, 9.6)


def test_a_replica_that_is_further_and_sends_nothing_is_left():
    """D27: and asked again when no other one is there."""
    further = {"a": Offer(State.STABLE, frontier=3), "b": Offer(State.STABLE, frontier=3)}
    found = port()
    assert all_of(found.switch(further, 2.4)) == []
    assert all_of(found.switch(further, 2.6)) == [
        Send("a", Unsubscribe("s", 1)),
        Send("b", Subscribe("s", 2, Lane.BOTH, 0, False)),
    ]
    assert all_of(found.switch(further, 3.0)) == []
    assert all_of(found.switch(further, 4.2)) == [
        Send("b", Unsubscribe("s", 2)),
        Send("a", Subscribe("s", 3, Lane.BOTH, 0, False)),
    ]
    alone = {"a": Offer(State.STABLE, frontier=3), "b": Offer(State.FAILURE)}
    assert all_of(found.switch(alone, 6.0)) == [Send("a", Subscribe("s", 4, Lane.BOTH, 0, False))]


def test_a_stable_bucket_that_comes_again_and_differs_is_reported():
    found = port()
    all_of(found.take_stable(stable(0, 10), 1.0))
    (report,) = all_of(found.take_stable(stable(0, 11), 1.1))
    assert isinstance(report, Report) and report.kind == "diverged" and "bucket 0" in report.detail


def test_a_replica_that_failed_gives_what_it_has_all_the_same():
    """It is reached, and what it made stable before is still to be had; and so is what it held back since before its inputs fell silent."""
    found = port()
    all_of(found.switch({"a": Offer(State.FAILURE), "b": Offer(State.FAILURE)}, 1.0))
    further = {"a": Offer(State.FAILURE), "b": Offer(State.FAILURE, frontier=3)}
    assert all_of(found.switch(further, 1.1)) == [
        Send("a", Unsubscribe("s", 1)),
        Send("b", Subscribe("s", 2, Lane.BOTH, 0, False)),
    ]
    all_of(found.take_stable(stable(0, 10, 11, 12), 1.2))
    assert all_of(found.switch(further, 1.3)) == []


def test_one_that_is_blocked_is_read_for_the_stable_buckets_that_it_has():
    """D68, D81: who came back with nothing would stay mute until its producer's failure ends."""
    found = Port("s", ("a",), SETTINGS, ("x",), resuming=True)
    (sent,) = found.switch({"a": Offer(State.FAILURE, frontier=9)}, 0.5)
    assert sent == Send("a", Subscribe("s", 1, Lane.BOTH, None, False))
    all_of(found.take_stable(stable(5, 15, 16, 17, 18), 1.0))
    assert found.frontier == 9
    ended = all_of(found.switch({"a": Offer(State.FAILURE, frontier=9)}, 1.1))
    assert not [effect for effect in ended if isinstance(effect.message, Subscribe)], "there is no more for now"


def test_buckets_that_are_said_again_are_as_old_as_they_are():
    found = port()
    again = Stable("s", 1, 0, tuple(Content(hash, 1) for hash in (10, 11, 12)), held=(0.75,) * 3)
    all_of(found.take_stable(again, 5.0))
    assert found.origin == {0: 4.25, 1: 4.25, 2: 4.25}


def test_messages_of_an_earlier_subscription_are_left():
    found = port()
    old = Stable("s", 9, 0, (Content(10, 1),))
    assert all_of(found.receive("a", old, 2.0)) == [Report("of an earlier subscription", "s")]
    assert (found.frontier, found.served["a"]) == (0, 1.0)
    assert all_of(found.receive("a", stable(0, 10), 2.0)) == []
    assert (found.frontier, found.served["a"], found.heard) == (1, 2.0, 2.0)
    all_of(found.receive("a", tentative(1, 11), 3.0))
    all_of(found.receive("a", Confirm("s", 1, 1, (11,)), 4.0))
    assert (found.frontier, found.heard) == (2, 4.0)
    assert all_of(found.receive("a", Gap("s", 1, 2, 4), 5.0)) == [Report("gap", "s", 2)]
    assert (found.frontier, found.heard) == (4, 5.0)


def test_a_subscription_that_the_producer_does_not_know_is_made_again():
    found = port()
    assert all_of(found.renew("a", 7, 2.0)) == [] and all_of(found.renew("b", 1, 2.0)) == []
    assert all_of(found.renew("a", 1, 2.0)) == [Send("a", Subscribe("s", 2, Lane.BOTH, 0, False))]
    assert found.serves("a", 2) and found.served["a"] == 2.0
    found.leaving_out = {"a"}
    assert all_of(found.renew("a", 2, 3.0)) == [Send("a", Subscribe("s", 3, Lane.BOTH, 0, False, gaps=True))]


def test_a_connection_that_broke_is_subscribed_anew():
    found, healthy = port(), {"a": Offer(State.STABLE), "b": Offer(State.STABLE)}
    found.disconnected("b")
    assert all_of(found.switch(healthy, 1.1)) == []
    found.disconnected("a")
    assert not found.serves("a", 1)
    assert all_of(found.switch(healthy, 1.2)) == [Send("a", Subscribe("s", 2, Lane.BOTH, 0, False))]


def test_one_that_is_not_reached_is_not_subscribed_to():
    found = Port("s", ("a",), SETTINGS)
    assert all_of(found.switch({"a": Offer(State.FAILURE)}, 1.0)) == [] and found.lanes == {}


def test_silence_for_as_long_as_is_allowed_is_none():
    """D27: a bucket and what it takes to notice a failure."""
    further = {"a": Offer(State.STABLE, frontier=3), "b": Offer(State.STABLE, frontier=3)}
    found = port()
    assert all_of(found.switch(further, 2.5)) == []
    assert all_of(found.switch(further, 2.5 + 1e-9)) != []
    found = port()
    all_of(found.take_stable(stable(0, 10, 11, 12), 1.0))
    assert all_of(found.switch(further, 9.0)) == [], "it has sent all that it says it has"


def test_the_fresh_lane_may_be_silent_while_another_one_corrects():
    found = port()
    split = {"a": Offer(State.STABILIZATION, True, 9), "b": Offer(State.STABILIZATION, False, 9)}
    assert all_of(found.switch(split, 1.0))
    assert found.lanes == {"a": Lane.FRESH, "b": Lane.CORRECT}
    found.served["b"] = 8.0
    assert all_of(found.switch(split, 9.0)) == []


def test_who_is_to_be_told_where_to_begin_asks_one_and_takes_nothing_tentative():
    found = Port("s", ("a", "b"), SETTINGS, ("x",), resuming=True)
    split = {"a": Offer(State.UP_FAILURE), "b": Offer(State.STABILIZATION)}
    assert all_of(found.switch(split, 1.0)) == [Send("a", Subscribe("s", 1, Lane.BOTH, None, False))]
    assert all_of(found.take_tentative("a", tentative(4, 14), 1.1)) == []
    assert (found.tentative, found.origin) == ({}, {})
    all_of(found.take_stable(stable(5, 15), 1.2))
    assert (found.first, found.frontier, found.furthest, found.resuming) == (5, 6, 6, False)
    assert found.reaches_back(3) == 7, "the first window that is whole"
    assert port().reaches_back(3) == 0, "before the first bucket there is nothing to miss"


def test_who_begins_again_holds_nothing():
    found = port()
    all_of(found.take_stable(stable(0, 10), 1.0))
    all_of(found.take_gap(Gap("s", 1, 1, 2), 1.0))
    all_of(found.take_tentative("a", tentative(4, 14, closed=False), 1.0))
    assert found.opened == {4}
    found.resume()
    held = (found.stable, found.lost, found.tentative, found.origin, found.arrived, found.numbers, found.lanes)
    assert not any(held) and not found.opened
    assert found.resuming and found.furthest == 0


def test_a_gap_takes_the_place_of_what_was_not_stable():
    """D71: what is stable stays, what is lost is not there."""
    found = port()
    all_of(found.take_stable(stable(0, 10), 1.0))
    all_of(found.take_stable(stable(2, 12), 1.0))
    all_of(found.take_tentative("a", tentative(1, 11), 1.0))
    all_of(found.take_tentative("a", tentative(3, 13), 1.0))
    assert all_of(found.take_gap(Gap("s", 1, 0, 4), 2.0)) == [Report("gap", "s", 2)]
    assert found.lost == {1, 3} and found.tentative == {} and found.frontier == 4
    assert [found.best(b) for b in range(4)] == [Content(10, 1), None, Content(12, 1), None]
    assert [found.coverage(b).level("x") for b in range(3)] == [Level.COMPLETE, Level.MISSING, Level.COMPLETE]
    assert all_of(found.take_gap(Gap("s", 1, 0, 4), 2.1)) == [], "nothing is lost twice"
    assert all_of(found.take_stable(stable(1, 99), 2.2)) == [Report("stable again", "s")], "a gap differs from nothing"


def test_what_is_confirmed_again_is_nothing_new():
    found = port()
    all_of(found.take_stable(stable(0, 10), 1.0))
    all_of(found.take_stable(stable(2, 12), 1.0))
    all_of(found.take_tentative("a", tentative(1, 11), 1.0))
    again = Report("stable again", "s")
    assert all_of(found.take_confirm("a", Confirm("s", 1, 0, (10, 11, 12)), 2.0)) == [again, again]
    assert (found.frontier, found.furthest, found.tentative) == (3, 3, {})
    effects = all_of(found.take_confirm("a", Confirm("s", 1, 3, (13, 14)), 3.0))
    assert effects == [Send("a", Want("s", 1, 3))], "asked for once, from there on"
    all_of(found.take_tentative("a", tentative(3, 13), 3.0))
    all_of(found.take_confirm("a", Confirm("s", 1, 3, (13,)), 3.1))
    assert found.furthest == 4


def test_a_part_of_a_bucket_is_heard_of_before_its_end():
    found = port()
    all_of(found.take_tentative("a", tentative(0, 20, closed=False), 1.0))
    assert found.opened == {0} and found.heard == 0.0, "only the end of a bucket shows that it goes on"
    all_of(found.take_tentative("a", tentative(0, 21), 1.3))
    assert found.heard == 1.3 and found.closed(0)
    all_of(found.take_tentative("a", tentative(1, 21), 1.5))
    all_of(found.take_tentative("a", tentative(1, 22, closed=False), 1.6))
    assert found.opened == {0}, "its end came first"
    assert found.arrived == {0: 1.0, 1: 1.5}


def test_a_bucket_that_was_held_longer_makes_those_before_it_older():
    found = port()
    all_of(found.take_tentative("a", tentative(0, 20), 1.0))
    all_of(found.take_tentative("a", tentative(1, 21, held=0.5), 1.2))
    assert found.origin == {0: 0.7, 1: 0.7} and found.arrived == {0: 1.0, 1: 1.2}


def test_who_is_read_decides_the_state():
    found = port()
    stable_now, silent = 1.0, 99.0
    for state, failed, cut_off in (
        (State.STABLE, (False, True), (False, True)),
        (State.UP_FAILURE, (True, True), (False, False)),
        (State.STABILIZATION, (True, True), (False, False)),
        (State.FAILURE, (True, True), (True, True)),
    ):
        monitor = Monitor(("a", "b"), SETTINGS)
        monitor.answered("a", {"s": Offer(state)})
        monitor.answered("b", {"s": Offer(State.STABLE)})
        assert tuple(found.failed(monitor, now) for now in (stable_now, silent)) == failed
        assert tuple(found.cut_off(monitor, now) for now in (stable_now, silent)) == cut_off
    found.curr = None
    assert found.state(monitor) is State.FAILURE


def test_what_is_not_read_any_more_is_forgotten_and_what_is_not_stable_stays():
    found = port()
    all_of(found.take_stable(stable(0, 10, 11, 12), 1.0))
    all_of(found.take_gap(Gap("s", 1, 3, 5), 1.0))
    all_of(found.take_tentative("a", tentative(6, 16, closed=False), 1.0))
    found.opened |= {1, 2}
    found.forget(2)
    assert sorted(found.stable) == [2, 3, 4] and found.opened == {2, 6} and found.lost == {3, 4}
    assert min(found.origin) == min(found.arrived) == 2
    found.forget(4)
    assert found.lost == {4}
    found.forget(50)
    assert sorted(found.tentative) == [6] and found.opened == {6} and min(found.origin) == 5


def test_what_nobody_reads_is_not_waited_for():
    found = port()
    all_of(found.take_stable(stable(4, 14), 1.0))
    found.skip(4)
    assert found.frontier == 5
    found.skip(2)
    assert found.frontier == 5


def test_what_was_tentative_and_is_stable_by_now_is_not_spoken_of():
    """D32."""
    found = port()
    all_of(found.take_tentative("a", tentative(0, 20), 1.0))
    all_of(found.take_stable(stable(0, 10), 1.0))
    found.tentative = {}
    (effect,) = found.renew("a", 1, 1.1)
    assert effect == Send("a", Subscribe("s", 2, Lane.BOTH, 1, False))
    all_of(found.take_tentative("a", tentative(1, 21), 1.2))
    (effect,) = found.renew("a", 2, 1.3)
    assert effect == Send("a", Subscribe("s", 3, Lane.BOTH, 1, True))


def test_one_that_begins_again_further_back_forgets_what_it_has_from_there_on():
    found = port()
    all_of(found.take_stable(stable(0, 10, 11, 12, 13, 14), 1.0))
    found.forget(4)
    assert set(found.stable) == {4}
    found.resume()
    found.start_at(1)
    all_of(found.take_stable(stable(1, 11, 12, 13), 2.0))
    found.forget(3)
    assert set(found.stable) == set(found.origin) == set(found.arrived) == {3}


def looks_for_another(monkeypatch, found: Port, now: float = 1.5, **offer: int) -> bool:
    """Whether the table is looked up, where the replica that is read says this and the other one is stable."""
    asked = []
    monkeypatch.setattr(module, "choose", lambda *read: asked.append(read) or choose(*read))
    all_of(found.switch({"a": Offer(**{"state": State.STABLE} | offer), "b": Offer(State.STABLE)}, now))
    return bool(asked)


def test_who_reads_a_stable_replica_that_gives_what_is_needed_looks_for_no_other(monkeypatch):
    far = int(SETTINGS.long_replay / SETTINGS.bucket)
    assert not looks_for_another(monkeypatch, port())
    assert not looks_for_another(monkeypatch, port(), frontier=far)
    assert looks_for_another(monkeypatch, port(), frontier=far + 1)
    assert looks_for_another(monkeypatch, port(), kept_from=1)
    assert looks_for_another(monkeypatch, port(), state=State.UP_FAILURE)
    further = port()
    all_of(further.take_stable(stable(0, 10), 1.2))
    assert not looks_for_another(monkeypatch, further, frontier=far + 1)
    late = 1.0 + SETTINGS.silence + 0.1
    assert not looks_for_another(monkeypatch, port(), late)
    assert looks_for_another(monkeypatch, port(), late, frontier=1), "it is further, and sends nothing"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("curr", None),
        ("bck", Feed("b", Lane.CORRECT)),
        ("resuming", True),
        ("lanes", {}),
        ("lanes", {"a": Lane.CORRECT}),
        ("lanes", {"a": Lane.BOTH, "b": Lane.FRESH}),
    ],
)
def test_it_does_where_it_reads_otherwise(monkeypatch, field, value):
    found = port()
    found.served["b"] = 1.0
    found.numbers["b"] = 2
    setattr(found, field, value)
    assert looks_for_another(monkeypatch, found)


def test_guesses_beyond_what_may_be_kept_are_asked_for_again_when_they_are_confirmed():
    found = port(replace(SETTINGS, most_kept=2))
    for bucket in range(3):
        all_of(found.take_tentative("a", tentative(bucket, 10 + bucket), 1.0))
    assert list(found.tentative) == [1, 2]
    assert all_of(found.take_confirm("a", Confirm("s", 1, 0, (10,)), 1.1)) == [Send("a", Want("s", 1, 0))]
