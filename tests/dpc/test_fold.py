"""The state of a fold: stable, tentative, and what is kept of it (D67)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from auroral.dpc.coverage import NOTHING, Coverage, Level
from auroral.dpc.events import (
    DropStates,
    Effect,
    Evaluate,
    Evaluated,
    Kept,
    Received,
    Report,
    SaveState,
    Send,
    Started,
    Truncate,
    Woken,
)
from auroral.dpc.fold import Fold
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Policy, Settings, WhenFull, WrongSettings
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import (
    Ack,
    Content,
    GiveState,
    Message,
    Ping,
    Pong,
    Snapshot,
    Stable,
    Subscribe,
    Tentative,
    WantState,
)

SETTINGS = Settings(bucket=0.5, bound=3.0, snapshot_every=4)


def state(bucket: int) -> Snapshot:
    return Snapshot(bucket, Content(1000 + bucket, 1))


def fold(*stable: int) -> Fold:
    found = Fold("o", 4, 8)
    for bucket in stable:
        list(found.advance(state(bucket)))
    return found


def test_snapshots_are_taken_now_and_then_and_dropped_when_nobody_can_ask_for_them():
    found = fold()
    assert list(found.advance(state(3))) == []
    assert list(found.advance(state(5))) == [SaveState("o", Snapshot(0, None)), SaveState("o", state(5))]
    assert list(found.advance(state(8))) == []
    assert list(found.advance(state(9))) == [SaveState("o", state(9))]
    assert list(found.forget(4)) == [] and found.restarts_from == Snapshot(0, None)
    assert list(found.forget(8)) == [DropStates("o", 5)] and found.restarts_from == state(5)
    assert list(found.forget(8)) == []


def test_a_chain_goes_on_from_itself_until_it_is_corrected():
    found = fold(10)
    assert found.start(12) == state(10), "what lies between is folded too"
    covered = Coverage.of(["x"], 12, Level.PARTIAL)
    found.guess(state(13), found.began(12), covered)
    assert found.start(13) == state(13) and found.covered(13) == covered
    assert found.start(12) == state(10) and found.covered(12) == NOTHING, "it is past that"
    list(found.advance(state(11)))
    assert found.start(13) == state(11), "built anew from what is right"
    assert found.start(40) == state(13), "unless that is too much for a job"
    list(found.advance(state(13)))
    assert found.start(40) == state(13) and found.chain is None


def replica(
    recovering: bool = False, peers: tuple[str, ...] = ("q2",), states: dict[str, Snapshot] | None = None
) -> Replica:
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",), folds=True)
    found = Replica(ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, peers), SETTINGS, recovering)
    found.handle(Started({}, states or {}), 0.0)
    return found


def offered(found: Replica, kept_from: int, frontier: int, now: float) -> list[Effect]:
    return found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, frontier, kept_from)}, {})), now)


def given(found: Replica, begin: int, end: int, now: float) -> list[Effect]:
    contents = tuple(Content(bucket, 1) for bucket in range(begin, end))
    return found.handle(Received("S", Stable("s", found.ports["s"].numbers["S"], begin, contents)), now)


def done(found: Replica, job: Evaluate, now: float) -> list[Effect]:
    contents = tuple(Content(100 + bucket, 1) for bucket in range(job.begin, job.end))
    result = state(job.end).state
    assert result is not None
    return found.handle(Evaluated(job.job, {"o": contents}, {"o": result}), now)


def jobs(effects: list[Effect]) -> list[Evaluate]:
    return [effect for effect in effects if isinstance(effect, Evaluate)]


def messages(effects: list[Effect], kind: type[Message]) -> list[Message]:
    return [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, kind)]


def test_a_job_begins_with_the_state_that_the_last_one_left():
    found = replica()
    offered(found, 0, 0, 0.0)
    (job,) = jobs(given(found, 0, 5, 0.5))
    assert job.states == {"o": Snapshot(0, None)}
    assert SaveState("o", state(5)) in done(found, job, 0.6)
    (job,) = jobs(given(found, 5, 6, 1.0))
    assert job.states == {"o": state(5)} and set(job.view["s"]) == {5}


def test_a_tentative_job_folds_what_is_there_and_leaves_the_stable_state_alone():
    found = replica()
    offered(found, 0, 0, 0.0)
    (job,) = jobs(given(found, 0, 2, 0.5))
    done(found, job, 0.6)
    number = found.ports["s"].numbers["S"]
    found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.7)
    guess = Tentative("s", number, 3, Content(3, 1), True, 0.0, Coverage.of("s", 3, Level.PARTIAL))
    (job,) = jobs(found.handle(Received("S", guess), 1.0))
    assert (job.begin, job.end, job.tentative) == (3, 4, True)
    assert job.states == {"o": state(2)}
    done(found, job, 1.1)
    fold = found.unions["o"].fold
    assert fold is not None and (fold.stable, fold.chain) == (state(2), state(4))
    assert fold.chain_coverage.level("s") is Level.MISSING, "bucket 2 was not there"


def test_inputs_are_kept_from_the_oldest_snapshot_on():
    found = replica()
    offered(found, 0, 0, 0.0)
    for begin in range(0, 12, 4):
        (job,) = jobs(given(found, begin, begin + 4, 0.5 + begin))
        done(found, job, 0.6 + begin)
    found.handle(Received("r", Ping({"o": Ack(11, 0.0)}, {})), 20.0)
    (ping, _) = messages(found.handle(Woken(), 20.1), Ping)
    assert isinstance(ping, Ping) and ping.acks["s"].need == 8


def test_a_fold_comes_back_with_the_snapshot_on_its_disk():
    found = replica(recovering=True, states={"o": state(8)})
    offered(found, 8, 12, 0.1)
    effects = given(found, 8, 12, 0.2)
    assert Truncate("o", 8) in effects
    (job,) = jobs(effects)
    assert (job.begin, job.end, job.states) == (8, 12, {"o": state(8)})
    done(found, job, 0.3)
    found.handle(Woken(), 0.4)
    assert not found.recovering


def test_a_fold_that_lost_its_disk_begins_with_the_state_of_another_replica():
    """D67: and asks for the inputs from there on, which are kept for the other one."""
    found = replica(recovering=True)
    offered(found, 4, 12, 0.1)
    effects = given(found, 10, 12, 0.2)
    assert messages(effects, WantState) == [WantState("o")] and found.recovering and not jobs(effects)
    effects = found.handle(Received("q2", GiveState("o", state(6))), 0.3)
    assert messages(effects, Subscribe) == [Subscribe("s", 2, Lane.BOTH, 6, False)]
    (job,) = jobs(given(found, 6, 12, 0.4))
    assert (job.begin, job.states) == (6, {"o": state(6)})


def test_what_another_replica_told_of_may_be_gone_by_then():
    found = replica(recovering=True)
    offered(found, 4, 12, 0.1)
    given(found, 10, 12, 0.2)
    found.handle(Received("q2", GiveState("o", state(6))), 0.3)
    effects = offered(found, 9, 15, 0.4)
    assert messages(effects, Subscribe) == [Subscribe("s", 3, Lane.BOTH, None, False)]
    assert messages(given(found, 9, 15, 2.0), WantState) == [WantState("o")], "it asks again"


def test_a_state_that_nobody_has_is_reported():
    found = replica(recovering=True, peers=())
    offered(found, 4, 12, 0.1)
    reports = [e for e in given(found, 4, 12, 0.2) if isinstance(e, Report)]
    assert [report.kind for report in reports] == ["state lost"]
    assert found.recovering


def lost(effects: list[Effect]) -> list[str]:
    return [e.stream for e in effects if isinstance(e, Report) and e.kind == "state lost"]


def test_a_state_that_only_those_may_have_who_do_not_answer_is_reported_after_a_while():
    """A replica that moves away from a dead one has it for a peer."""
    found = replica(recovering=True)
    offered(found, 4, 12, 0.1)
    assert lost(given(found, 4, 12, 0.2)) == []
    assert lost(found.handle(Woken(), 1.2)) == ["o"]
    found.handle(Received("q2", Pong({"o": Offer(State.STABLE)}, {})), 1.3)
    assert lost(found.handle(Woken(), 2.3)) == [], "it is being asked"


def test_who_is_whole_gives_its_oldest_snapshot():
    found = replica()
    offered(found, 0, 0, 0.0)
    (job,) = jobs(given(found, 0, 5, 0.5))
    done(found, job, 0.6)
    assert messages(found.handle(Received("q2", WantState("o")), 0.7), GiveState) == [GiveState("o", Snapshot(0, None))]
    assert messages(replica(recovering=True).handle(Received("q2", WantState("o")), 0.7), GiveState) == []


def test_nothing_that_a_fold_needs_may_be_lost():
    """D72."""
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), (), folds=True)
    spec = ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output})
    bounded = replace(SETTINGS, most_kept=20)
    with pytest.raises(WrongSettings, match="when_full='block'"):
        Replica(spec, bounded)
    assert Replica(spec, replace(bounded, when_full=WhenFull.BLOCK)).unions["o"].fold is not None


def test_where_full_buffers_block_no_job_goes_past_the_next_snapshot():
    """D72: there is room for no more than that between two of them."""
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",), folds=True)
    spec = ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output})
    for settings, cut in (
        (SETTINGS, [(0, 10)]),
        (replace(SETTINGS, most_kept=20, when_full=WhenFull.BLOCK), [(0, 4), (4, 8), (8, 10)]),
    ):
        found = Replica(spec, settings)
        found.handle(Started({}), 0.0)
        offered(found, 0, 0, 0.0)
        made, pending = list[tuple[int, int]](), jobs(given(found, 0, 10, 0.5))
        while pending:
            (job,) = pending
            made.append((job.begin, job.end))
            pending = jobs(done(found, job, 0.6))
        assert made == cut


def test_a_job_from_before_it_began_again_is_nothing():
    found = replica(recovering=True, states={"o": state(8)})
    offered(found, 8, 12, 0.1)
    (job,) = jobs(given(found, 8, 12, 0.2))
    offered(found, 20, 30, 0.3)
    found.handle(Woken(), 0.35)
    assert Report("begun again before its job ended", "o") in done(found, job, 0.4)
    assert found.outlets["o"].frontier == 8 and found.unions["o"].fold.stable == state(8)


def test_a_guess_that_is_not_ahead_of_what_is_stable_is_nothing():
    found = fold(10)
    found.guess(state(10), 10, NOTHING)
    assert found.chain is None
    found.guess(state(11), 10, NOTHING)
    assert (found.chain, found.began(11), found.began(10)) == (state(11), 10, 10)
    list(found.advance(state(11)))
    assert found.chain is None


def test_a_chain_is_built_anew_where_that_takes_no_more_buckets_than_so_many():
    found = fold(10)
    found.guess(state(14), 10, Coverage.of(["x"], 12, Level.PARTIAL))
    assert (found.start(14), found.began(14)) == (state(14), 10), "nothing was corrected"
    list(found.advance(state(11)))
    assert (found.start(19), found.began(19), found.covered(19)) == (state(11), 11, NOTHING)
    assert (found.start(20), found.began(20)) == (state(14), 10)


def test_snapshots_are_kept_from_the_last_one_before_the_need_on():
    found = fold(4, 8, 12)
    assert [one.bucket for one in found.kept] == [0, 4, 8, 12]
    assert list(found.forget(3)) == [] and list(found.forget(8)) == [DropStates("o", 8)]
    assert [one.bucket for one in found.kept] == [8, 12]
    found.guess(state(14), 12, NOTHING)
    found.begin(state(9))
    assert (found.stable, found.kept, found.chain) == (state(9), [state(9)], None)


def test_a_state_is_asked_for_again_after_a_while():
    found = replica(recovering=True)
    offered(found, 4, 12, 0.1)
    assert messages(given(found, 10, 12, 0.2), WantState)
    assert not messages(found.handle(Woken(), 1.1), WantState)
    assert messages(found.handle(Woken(), 1.2), WantState)


def test_a_state_that_the_inputs_reach_is_begun_with_at_once():
    found = replica(recovering=True)
    offered(found, 4, 12, 0.1)
    given(found, 10, 12, 0.2)
    (job,) = jobs(found.handle(Received("q2", GiveState("o", state(10))), 0.3))
    assert (job.begin, job.states) == (10, {"o": state(10)}), "no input is asked for again"
    done(found, job, 0.4)
    found.handle(Received("q2", GiveState("o", state(3))), 0.5)
    assert found.recovery.snapshots == {"o": state(10)} and found.ports["s"].frontier == 12
    stranger = replica(recovering=True)
    stranger.handle(Received("x", GiveState("o", state(3))), 0.1)
    assert stranger.recovery.snapshots == {}


def test_a_fold_without_a_snapshot_begins_with_nothing_where_its_inputs_reach_back_to_the_first_bucket():
    for first, begins in ((0, True), (1, False)):
        found = replica(recovering=True)
        offered(found, first, 12, 0.1)
        effects = given(found, first, 12, 0.2)
        assert [job.states for job in jobs(effects)] == [{"o": Snapshot(0, None)}] * begins
        assert bool(messages(effects, WantState)) is not begins
        assert not [e for e in effects if isinstance(e, Report)], "somebody can be asked"


def test_a_second_answer_changes_nothing():
    found = replica(recovering=True)
    offered(found, 4, 30, 0.1)
    given(found, 10, 12, 0.2)
    found.handle(Received("q2", GiveState("o", state(10))), 0.3)
    found.handle(Received("q2", GiveState("o", state(6))), 0.35)
    assert found.recovering and found.recovery.snapshots == {"o": state(10)} and found.ports["s"].first == 10


def test_a_chain_covers_what_its_last_bucket_does():
    found = replica()
    offered(found, 0, 0, 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.1)
    for bucket in range(3):
        covered = Coverage.of("s", bucket, Level.PARTIAL)
        found.handle(Received("S", Tentative("s", 1, bucket, Content(bucket, 1), True, 0.0, covered)), 0.2)
    (first,) = found.jobs.running.values()
    effects = found.handle(Evaluated(1, {"o": (Content(0, 1),)}, {"o": Content(1, 1)}), 0.3)
    assert (first.begin, first.end) == (0, 1)
    (job,) = jobs(effects)
    assert (job.begin, job.end) == (1, 3)
    done(found, job, 0.4)
    fold = found.unions["o"].fold
    assert fold is not None and fold.chain_coverage.spans == {"s": ((0, 3, Level.PARTIAL),)}


def test_what_a_fold_gave_out_is_not_gone_on_with_without_its_state():
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",), folds=True)
    found = Replica(ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}), SETTINGS, True)
    found.handle(Started({"o": Kept(3, (Content(3, 1),))}), 0.0)
    assert found.outlets["o"].frontier == 0 and not found.ports["s"].may_lose


def test_the_inputs_of_a_state_are_asked_for_at_once():
    """Not only with the next heartbeat."""
    found = replica(recovering=True)
    offered(found, 4, 12, 0.1)
    given(found, 10, 12, 0.2)
    effects = found.handle(Received("q2", GiveState("o", state(6))), 0.25)
    assert messages(effects, Subscribe) == [Subscribe("s", 2, Lane.BOTH, 6, False)]
    (job,) = jobs(given(found, 6, 12, 0.26))
    done(found, job, 0.27)
    assert not found.recovering and found.ports["s"].may_lose, "only who recovers begins later rather than with a gap"


def test_no_job_begins_before_the_state_of_a_fold():
    """Another output is far behind it: one after the other."""
    outputs = {
        "o": OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",), folds=True),
        "x": OutputSpec("x", {"t": 1}, (frozenset("t"),), ("r",)),
    }
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    found = Replica(spec, replace(SETTINGS, while_failing=Policy.DELAY))
    found.handle(Started(), 0.0)
    found.ports["s"].start_at(21)
    list(found.outlets["o"].begin(21))
    fold = found.unions["o"].fold
    assert fold is not None
    fold.begin(state(21))
    for name, stream in (("S", "s"), ("T", "t")):
        found.handle(Received(name, Pong({stream: Offer(State.UP_FAILURE)}, {})), 0.1)
    for name, stream, bucket in (("S", "s", 22), ("T", "t", 3)):
        number = found.ports[stream].numbers[name]
        guess = Tentative(stream, number, bucket, Content(bucket, 1), True, 0.0, NOTHING)
        found.handle(Received(name, guess), 0.2)
    (first,) = jobs(found.handle(Woken(), 9.0))
    assert (first.outputs, first.begin) == (("x",), 3)


def test_what_a_chain_lacks_counts_to_where_its_state_is():
    """A job for several outputs takes the state as far as the one that goes furthest."""
    outputs = {
        "o": OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), ("r",), folds=True),
        "p": OutputSpec("p", {"s": 1, "t": 1}, (frozenset("st"),), ("r",)),
    }
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    found = Replica(spec, Settings(bucket=0.5, bound=3.0))
    found.handle(Started(), 0.0)
    list(found.ports["t"].take_stable(Stable("t", 1, 0, (Content(1, 1), Content(2, 1))), 0.1))
    (job,) = found.jobs.start_tentative({"o": {0: 3.0}, "p": {0: 3.0, 1: 3.0}}, 3.0)
    assert (job.begin, job.end) == (0, 2)
    contents = (Content(7, 1), Content(8, 1))
    found.handle(Evaluated(job.job, {"o": contents, "p": contents}, {"o": Content(9, 1)}), 3.1)
    fold = found.unions["o"].fold
    assert fold.start(2) == Snapshot(2, Content(9, 1))
    assert fold.covered(2).spans["s"] == ((0, 2, Level.MISSING),)
