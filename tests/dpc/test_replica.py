"""A replica, fed with events: jobs that come to nothing, and buckets that an integrity constraint holds back."""

from __future__ import annotations

from auroral.dpc.coverage import NOTHING, AtLeast
from auroral.dpc.events import Effect, Evaluate, Evaluated, Failed, Received, Report, Send, Started, Woken
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.values import Content, Ping, Pong, Stable, Subscribe, Tentative

SETTINGS = Settings(bucket=0.5, bound=3.0)


def replica(*constraints: AtLeast) -> Replica:
    """A union of two sources, both heard of and subscribed to."""
    output = OutputSpec("o", {"s": 1, "t": 1}, (frozenset("st"),), (), constraints)
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
