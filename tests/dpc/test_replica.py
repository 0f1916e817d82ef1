"""A replica, fed with events: jobs that come to nothing, and buckets that an integrity constraint holds back."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest

from auroral.dpc.coverage import NOTHING, AtLeast, Coverage, Level
from auroral.dpc.events import (
    Cancel,
    Disconnected,
    Effect,
    Evaluate,
    Evaluated,
    Failed,
    Kept,
    Received,
    Report,
    Send,
    Started,
    WakeAt,
    Woken,
)
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Lane, Offer
from auroral.dpc.values import Ack, Content, Hashes, Ping, Pong, Snapshot, Stable, Subscribe, Tentative

SETTINGS = Settings(bucket=0.5, bound=3.0)


def replica(*constraints: AtLeast, output: OutputSpec | None = None) -> Replica:
    """A union of two sources, both heard of and subscribed to, or what else is computed from them."""
    output = output or OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), (), constraints)
    found = Replica(ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, {"o": output}), SETTINGS)
    found.handle(Started(), 0.0)
    for source, stream in (("S", "s"), ("T", "t")):
        effects = found.handle(Received(source, Pong({stream: Offer(State.STABLE)}, {})), 0.0)
        assert any(isinstance(e, Send) and isinstance(e.message, Subscribe) and e.to == source for e in effects)
    return found


def given(found: Replica, stream: str, bucket: int, now: float) -> list[Effect]:
    number = found.ports[stream].numbers[stream.upper()]
    return found.handle(Received(stream.upper(), Stable(stream, number, bucket, (Content(bucket, 1),))), now)


def jobs(effects: list[Effect]) -> list[Evaluate]:
    return [effect for effect in effects if isinstance(effect, Evaluate)]


def test_a_bucket_is_evaluated_once_all_inputs_have_it():
    """D18."""
    found = replica()
    assert jobs(given(found, "s", 0, 0.5)) == []
    (job,) = jobs(given(found, "t", 0, 0.6))
    assert (job.begin, job.end, job.tentative) == (0, 1, False)
    assert set(job.view) == {"s", "t"}


def came(found: Replica, stream: str, bucket: int, content: Content, now: float) -> list[Effect]:
    stable = Stable(stream, found.ports[stream].numbers[stream.upper()], bucket, (content,))
    return found.handle(Received(stream.upper(), stable), now)


def test_what_is_computed_does_not_depend_on_which_input_comes_first():
    """D22: the two sides of a join, interleaved in every way."""
    output = OutputSpec("o", {"s": 2, "t": 2}, (frozenset("s"), frozenset("t")), ())
    found = []
    for first in combinations(range(6), 3):
        core, read, left = replica(output=output), [], {"s": iter(range(3)), "t": iter(range(3))}
        for arrival in range(6):
            name = "s" if arrival in first else "t"
            bucket = next(left[name])
            for job in jobs(came(core, name, bucket, Content(10 * bucket + "st".index(name), 1), 0.5)):
                read.append((job.begin, job.end, job.view))
                core.handle(Evaluated(job.job, {"o": (Content(9, 1),)}), 0.5)
        found.append(read)
    assert len(found) == 20 and all(read == found[0] for read in found)
    assert [(begin, end) for begin, end, _ in found[0]] == [(0, 1), (1, 2), (2, 3)]
    assert found[0][2][2] == {"s": {1: Content(10, 1), 2: Content(20, 1)}, "t": {1: Content(11, 1), 2: Content(21, 1)}}


def test_buckets_without_rows_go_on_to_who_reads():
    """D24: for ten seconds, each of them, in their order."""
    core, empty = replica(), Content(0, 0)
    core.handle(Received("r", Subscribe("o", 1, Lane.BOTH, 0, False)), 0.0)
    sent = list[tuple[int, int]]()
    for bucket in range(20):
        assert jobs(came(core, "s", bucket, empty, 0.5 * bucket)) == []
        (job,) = jobs(came(core, "t", bucket, empty, 0.5 * bucket))
        effects = core.handle(Evaluated(job.job, {"o": (empty,)}), 0.5 * bucket)
        given_out = [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Stable)]
        sent += [(message.begin, len(message.contents)) for message in given_out]
    assert sent == [(bucket, 1) for bucket in range(20)]


def test_a_job_that_failed_is_begun_again_and_a_result_that_nobody_waits_for_is_nothing():
    found = replica()
    given(found, "s", 0, 0.5)
    (job,) = jobs(given(found, "t", 0, 0.6))
    effects = found.handle(Failed(job.job, "the executor is gone"), 0.7)
    assert Report("job failed", "o", detail="the executor is gone") in effects
    (again,) = jobs(effects)
    assert (again.begin, again.end, again.job) == (0, 1, job.job + 1)
    found.handle(Evaluated(job.job, {"o": (Content(9, 1),)}), 0.8)
    assert found.outlets["o"].frontier == 0, "it was given up"
    found.handle(Evaluated(again.job, {"o": (Content(9, 1),)}), 0.9)
    assert found.outlets["o"].frontier == 1


def test_a_bucket_without_enough_of_its_sources_is_held_back():
    """ "Only if both sites are there": without the constraint it is given out tentatively in time."""
    free, bound = replica(), replica(AtLeast(2, frozenset("st")))
    for found in (free, bound):
        given(found, "s", 0, 0.5)
    assert [job.tentative for job in jobs(free.handle(Woken(), 4.0))] == [True]
    assert jobs(bound.handle(Woken(), 4.0)) == []


def test_who_holds_back_what_is_due_says_that_nothing_comes():
    """Another replica may have enough of the sources."""
    free, bound = replica(), replica(AtLeast(2, frozenset("st")))
    for found in (free, bound):
        given(found, "s", 0, 0.5)
        given(found, "s", 1, 2.0)
    (due,) = {found.unions["o"].deadlines(0.0)[0] for found in (free, bound)}
    assert [free.unions["o"].state(now) for now in (due - 0.1, due)] == [State.UP_FAILURE, State.UP_FAILURE]
    assert [bound.unions["o"].state(now) for now in (due - 0.1, due)] == [State.UP_FAILURE, State.FAILURE]


def test_what_is_folded_into_a_state_counts_for_a_constraint():
    output = OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), (), (AtLeast(1, frozenset("st")),), folds=True)
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, {"o": output})
    found = Replica(spec, SETTINGS).unions["o"]
    found.ports["s"].stable = {bucket: Content(bucket, 1) for bucket in (0, 1)}
    assert found.allowed(1) and found.fold is not None
    found.fold.chain, found.fold.chain_coverage = Snapshot(1, None), Coverage.of(["s"], 0, Level.MISSING)
    assert not found.allowed(1), "s was missing before, and t is now"


def test_who_comes_back_computes_nothing_from_before_its_inputs_begin():
    """D65, D66: also of an output whose inputs are there while another one's are not."""
    outputs = {
        "o": OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), ()),
        "x": OutputSpec("x", {"s": 2}, (frozenset("s"),), ()),
    }
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs)
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, frontier=12)}, {})), 0.0)
    number = found.ports["s"].numbers["S"]
    contents = tuple(Content(bucket, 1) for bucket in range(7, 12))
    (job,) = jobs(found.handle(Received("S", Stable("s", number, 7, contents)), 0.1))
    assert (job.outputs, job.begin, job.end) == (("x",), 8, 12)
    assert found.recovering, "t is not there yet"


def test_all_outputs_that_are_due_go_into_one_tentative_job():
    """The bound sets one job's time aside: with a job each, the last would be late, and where jobs are long never come."""
    outputs = {
        "o": OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), ()),
        "x": OutputSpec("x", {"s": 1, "t": 1}, (frozenset("st"),), ()),
    }
    found = replica()
    found = Replica(ReplicaSpec("q", found.spec.inputs, found.spec.sources, outputs), SETTINGS)
    found.handle(Started(), 0.0)
    for source, stream in (("S", "s"), ("T", "t")):
        found.handle(Received(source, Pong({stream: Offer(State.STABLE)}, {})), 0.0)
    given(found, "s", 0, 0.5)
    (job,) = jobs(found.handle(Woken(), 4.0))
    assert (job.outputs, job.tentative) == (("o", "x"), True)
    found.handle(Evaluated(job.job, {"o": (Content(1, 1),), "x": (Content(2, 1),)}), 4.1)
    assert [found.outlets[stream].newest for stream in "ox"] == [0, 0]


def test_each_output_has_a_bound_of_its_own():
    """One input is away: what may wait longer does."""
    found = replica()
    soon = found.spec.outputs["o"]
    later = replace(soon, stream="later", bound=9.0)
    found = Replica(ReplicaSpec("q", found.spec.inputs, found.spec.sources, {"o": soon, "later": later}), SETTINGS)
    found.handle(Started(), 0.0)
    for stream, name in (("s", "S"), ("t", "T")):
        found.handle(Received(name, Pong({stream: Offer(State.STABLE)}, {})), 0.0)
    given(found, "s", 0, 0.5)
    due = {stream: union.deadlines(0.0)[0] for stream, union in found.unions.items()}
    assert due["later"] - due["o"] == pytest.approx(6.0)
    (first,) = jobs(found.handle(Woken(), due["o"]))
    assert first.tentative and first.outputs == ("o",)


def test_an_input_that_no_output_reads_holds_up_nothing():
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ())
    found = Replica(ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, {"o": output}), SETTINGS)
    found.handle(Started(), 0.0)
    found.handle(Received("T", Pong({"t": Offer(State.STABLE)}, {})), 0.1)
    given(found, "t", 0, 0.5)
    pings = [e.message for e in found.handle(Woken(), 1.0) if isinstance(e, Send) and e.to == "T"]
    assert [ping.acks["t"].need for ping in pings if isinstance(ping, Ping)] == [1]


def test_a_bucket_that_is_far_ahead_costs_no_more_than_another():
    """M9: as if somebody's clock were wrong; what lies between is not looked at one by one."""
    found = replica()
    found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.1)
    far = Tentative("s", found.ports["s"].numbers["S"], 900_000, Content(1, 1), True, 0.0, NOTHING)
    found.handle(Received("S", far), 0.5)
    assert len(found.unions["o"]._new_buckets()) == 9
    (job,) = jobs(found.handle(Woken(), 4.0))
    assert (job.begin, job.end) == (900_000, 900_001)


def all_jobs_done(found: Replica, effects: list[Effect], now: float) -> None:
    for job in jobs(effects):
        found.handle(Evaluated(job.job, {"o": tuple(Content(b, 1) for b in range(job.begin, job.end))}), now)


def reading(found: Replica) -> Replica:
    found.handle(Received("r", Subscribe("o", 1, Lane.BOTH, 0, False)), 0.1)
    return found


def test_what_has_become_final_is_not_guessed_any_more():
    found = replica()
    given(found, "s", 0, 0.5)
    (guess,) = jobs(found.handle(Woken(), 4.0))
    (right,) = jobs(given(found, "t", 0, 4.1))
    effects = found.handle(Evaluated(right.job, {"o": (Content(1, 1),)}), 4.2)
    assert Cancel(guess.job) in effects and not found.jobs.running


def test_a_guess_that_is_partly_overtaken_gives_the_rest():
    found = reading(replica())
    given(found, "s", 0, 0.5)
    given(found, "s", 1, 1.0)
    (guess,) = jobs(found.handle(Woken(), 4.5))
    assert (guess.begin, guess.end) == (0, 2)
    (right,) = jobs(given(found, "t", 0, 4.6))
    effects = found.handle(Evaluated(right.job, {"o": (Content(1, 1),)}), 4.7)
    assert Cancel(guess.job) not in effects
    assert not found.unions["o"].processing
    effects = found.handle(Evaluated(guess.job, {"o": (Content(1, 1), Content(2, 1))}), 4.8)
    assert Report("stable before its tentative job ended", "o") in effects
    assert [e.message.bucket for e in effects if isinstance(e, Send) and isinstance(e.message, Tentative)] == [1]
    assert found.unions["o"].processing and found.outlets["o"].newest == 1


def test_what_was_held_back_is_said_with_the_bucket():
    """D77: from when it was usually ready, less what a job usually takes."""
    found = reading(replica())
    given(found, "s", 0, 0.5)
    (guess,) = jobs(found.handle(Woken(), 4.0))
    effects = found.handle(Evaluated(guess.job, {"o": (Content(1, 1),)}), 4.25)
    (sent,) = [e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Tentative)]
    assert (sent.held, sent.closed) == (3.5, True)
    assert (sent.coverage.level("s"), sent.coverage.level("t")) == (Level.COMPLETE, Level.MISSING)


def test_what_a_job_takes_is_learned_from_those_of_one_bucket_and_from_guesses():
    found = replica()
    given(found, "s", 0, 0.5)
    all_jobs_done(found, given(found, "t", 0, 0.5), 0.75)
    assert found.usual_job.times == [0.25]
    for bucket in (1, 2):
        given(found, "s", bucket, 1.0)
    given(found, "t", 2, 1.0)
    all_jobs_done(found, given(found, "t", 1, 1.0), 1.5)
    assert (found.outlets["o"].frontier, found.usual_job.times) == (3, [0.25])
    given(found, "s", 3, 1.5)
    given(found, "s", 4, 1.5)
    all_jobs_done(found, found.handle(Woken(), 5.0), 5.5)
    assert found.usual_job.times == [0.25, 0.25], "a second bucket takes as long again"


def test_it_is_woken_for_the_next_heartbeat_or_the_next_deadline():
    found = replica()
    assert found.handle(Woken(), 0.05)[-1] == WakeAt(0.1)
    given(found, "s", 0, 0.5)
    due = found.unions["o"].next_deadline(0.6)
    assert found.handle(Woken(), due - 0.05)[-1] == WakeAt(due)


def test_a_heartbeat_that_says_nothing_new_leads_to_nothing():
    found = replica()
    assert found.handle(Received("S", Pong({"s": Offer(State.STABLE, frontier=4)}, {})), 0.05) == []
    changed = found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.05)
    assert isinstance(changed[-1], WakeAt)
    effects = found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.1)
    assert {e.to for e in effects if isinstance(e, Send)} == {"S", "T"}, "the next heartbeats are due"


def test_a_connection_that_broke_is_done_without():
    found = reading(replica())
    found.comparisons["o"].told["S"] = 7
    found.handle(Disconnected("S"), 0.2)
    assert not found.monitor.reached("S") and "S" not in found.ports["s"].numbers
    assert found.comparisons["o"].told == {} and found.outlets["o"].holds("r", 1)
    found.handle(Disconnected("r"), 0.3)
    assert not found.outlets["o"].holds("r", 1)
    effects = found.handle(Received("S", Pong({"s": Offer(State.STABLE)}, {})), 0.35)
    assert Send("S", Subscribe("s", 2, Lane.BOTH, 0, False)) in effects


def test_a_subscription_that_a_source_does_not_know_is_made_again():
    effects = replica().handle(Received("S", Pong({"s": Offer(State.STABLE)}, {"s": 1, "u": 1})), 0.05)
    assert Send("S", Subscribe("s", 2, Lane.BOTH, 0, False)) in effects


def test_a_guess_that_comes_when_a_newer_one_was_given_out_is_counted():
    found = replica()
    found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.1)
    found.outlets["o"].newest = 3

    def late(bucket: int) -> bool:
        guess = Tentative("s", 1, bucket, Content(1, 1), True, 0.0, NOTHING)
        return Report("tentative too late to be used", "s") in found.handle(Received("S", guess), 0.5)

    assert (late(3), late(4)) == (True, False)


def test_replicas_compare_and_tell_one_another_what_they_made():
    """D19: with heartbeats, the one that comes later by name to the one before it."""
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",))
    spec = ReplicaSpec("q2", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, ("q1", "q3"))
    found = Replica(spec, SETTINGS)
    found.handle(Started({"o": Kept(0, ())}), 0.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE)}, {})), 0.0)
    (job,) = jobs(given(found, "s", 0, 0.5))
    found.handle(Received("r", Ping({"o": Ack(0, 0.5)}, {})), 0.55)
    effects = found.handle(Evaluated(job.job, {"o": (Content(77, 1),)}), 1.0)
    pings = {e.to: e.message for e in effects if isinstance(e, Send)}
    took = found.usual_job.highest
    assert pings == {
        "S": Ping({"s": Ack(0, took + SETTINGS.hop + SETTINGS.failover + 0.5)}, {"s": 1}),
        "q1": Ping({}, {}, {"o": Hashes(0, (77,))}, took),
        "q3": Ping({}, {}, {}, took),
    }
    wrong = Ping({}, {}, {"o": Hashes(0, (78,)), "gone": Hashes(0, (1,))})
    assert [e.kind for e in found.handle(Received("q3", wrong), 1.05) if isinstance(e, Report)] == ["diverged"]
    assert not [e for e in found.handle(Received("r", wrong), 1.05) if isinstance(e, Report)], "it is no replica of it"


def test_inputs_are_forgotten_when_no_output_reads_them():
    found = replica()
    for bucket in range(3):
        given(found, "s", bucket, 0.5)
        all_jobs_done(found, given(found, "t", bucket, 0.5), 0.5)
    found.handle(Woken(), 1.0)
    assert (found.ports["s"].stable, found.outlets["o"].kept) == ({}, {}), "nobody reads the output either"


def test_a_replica_answers_with_what_it_has():
    found = reading(replica())
    given(found, "s", 0, 0.5)
    all_jobs_done(found, given(found, "t", 0, 0.5), 0.5)
    (answer,) = found.handle(Received("r", Ping({}, {"o": 3})), 0.55)
    assert answer == Send("r", Pong({"o": Offer(State.STABLE, True, 1, 0)}, {"o": 3}))


def test_another_replica_is_read_as_soon_as_the_connection_breaks():
    """Not only with the next heartbeat."""
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ())
    found = Replica(ReplicaSpec("q", {"s": ("S", "S2")}, {"s": ("s",)}, {"o": output}), SETTINGS)
    found.handle(Started(), 50.0)
    for source in ("S", "S2"):
        found.handle(Received(source, Pong({"s": Offer(State.STABLE)}, {})), 50.0)
    effects = found.handle(Disconnected("S"), 50.01)
    assert Send("S2", Subscribe("s", 2, Lane.BOTH, 0, False)) in effects
    assert found.unions["o"].state(51.5) is State.STABLE, "silence is counted from when it began to live"
    assert found.recovery.born == 50.0 and not found.spec.durable and not found.recovering


def two_outputs() -> Replica:
    """`o` is made from s and t, and `x` from windows of s."""
    outputs = {
        "o": OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), ("r",)),
        "x": OutputSpec("x", {"s": 2}, (frozenset("s"),), ("r",)),
    }
    found = Replica(ReplicaSpec("q", {"s": ("S",), "t": ("T",)}, {"s": ("s",), "t": ("t",)}, outputs), SETTINGS)
    found.handle(Started(), 0.0)
    for source, stream in (("S", "s"), ("T", "t")):
        found.handle(Received(source, Pong({stream: Offer(State.STABLE)}, {})), 0.0)
    return found


def test_an_input_is_kept_for_the_output_that_is_behind_and_set_aside_for_the_slower():
    """D69, D77."""
    found = two_outputs()
    for bucket in range(4):
        for job in jobs(given(found, "s", bucket, 0.5)):
            assert job.outputs == ("x",)
            found.handle(Evaluated(job.job, {"x": (Content(bucket, 1),)}), 0.5)
    for stream, need, reserve in (("o", 0, 0.25), ("x", 3, 0.5)):
        found.handle(Received("r", Ping({stream: Ack(need, reserve)}, {})), 0.5)
    effects = found.handle(Woken(), 1.0)
    assert sorted(found.ports["s"].stable) == [0, 1, 2, 3], "o has none of them yet"
    needs = {e.to: e.message.acks for e in effects if isinstance(e, Send) and isinstance(e.message, Ping)}
    hop = SETTINGS.hop + SETTINGS.failover
    assert needs == {"S": {"s": Ack(0, hop + 0.5)}, "T": {"t": Ack(0, hop + 0.25)}}
    for bucket in range(4):
        given(found, "t", bucket, 1.0)
    found.handle(Evaluated(found.jobs.last, {"o": (Content(0, 1),)}), 1.05)
    found.handle(Woken(), 1.2)
    assert sorted(found.ports["s"].stable) == [1, 2, 3] and sorted(found.ports["t"].stable) == [1, 2, 3]


def test_a_guess_is_too_late_when_no_output_uses_it():
    found = two_outputs()
    found.handle(Received("S", Pong({"s": Offer(State.UP_FAILURE)}, {})), 0.1)
    found.outlets["o"].newest, found.outlets["x"].newest = 3, 2

    def late(bucket: int) -> bool:
        guess = Tentative("s", 1, bucket, Content(1, 1), True, 0.0, NOTHING)
        return Report("tentative too late to be used", "s") in found.handle(Received("S", guess), 0.5)

    assert (late(2), late(3)) == (True, False)


def test_each_output_of_a_job_is_as_old_as_what_it_is_made_from():
    """D77: what t was held back before counts for what is made from it."""
    found = two_outputs()
    found.handle(Received("T", Stable("t", 1, 0, (Content(0, 1),), (0.25,))), 0.5)
    (job,) = jobs(given(found, "s", 0, 0.5))
    assert found.jobs.running[job.job].ready_at == {"o": (0.25,), "x": (0.5,)}


def test_a_join_is_blocked_without_one_of_its_sides():
    """D44: missing is not empty."""
    output = OutputSpec("o", {"s": 1, "t": 1, "u": 1}, (frozenset("st"), frozenset("u")), ())
    found = Replica(
        ReplicaSpec("q", dict.fromkeys("stu", ("S",)), dict.fromkeys("stu", ("s",)), {"o": output}), SETTINGS
    )
    union = found.unions["o"]
    found.ports["s"].stable[0] = Content(0, 1)
    assert union.blocked(0)
    found.ports["u"].stable[0] = Content(0, 1)
    assert not union.blocked(0), "one of s and t is enough"
    del found.ports["s"].stable[0]
    assert union.blocked(0)
