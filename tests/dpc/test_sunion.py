"""When a bucket must not be waited for any longer (D37)."""

from __future__ import annotations

from dataclasses import replace

from auroral.dpc.events import Evaluated, Kept, Received, Send, Started, Woken
from auroral.dpc.replica import Replica
from auroral.dpc.source import Source
from auroral.dpc.switching import Lane
from auroral.dpc.usual import Usual
from auroral.dpc.values import Content, Stable, Subscribe
from dpc.test_replica import SETTINGS, given, jobs, replica


def test_a_deadline_does_not_depend_on_which_input_fails():
    """T is usually 0.3 s later than S: when only T comes, the bucket is as late already."""
    first = {"s": 0.0, "t": 0.3}
    for missing, there in (("t", "s"), ("s", "t")):
        found = replica()
        for bucket in range(3):
            given(found, "s", bucket, bucket * 0.5 + 0.5)
            (job,) = jobs(given(found, "t", bucket, bucket * 0.5 + 0.8))
            found.handle(Evaluated(job.job, {"o": (Content(9, 1),)}), bucket * 0.5 + 0.8)
        given(found, there, 3, 2.0 + first[there])
        due = found.unions["o"].next_deadline(2.5)
        assert round(due, 3) == round(2.3 + SETTINGS.bound - SETTINGS.failover - SETTINGS.hop, 3), f"without {missing}"
        assert not jobs(found.handle(Woken(), due - 0.01))
        assert jobs(found.handle(Woken(), due))


def test_the_wait_of_a_bucket_that_came_in_parts_is_told_from_that_of_one_that_did_not():
    """A part comes 0.2 s before the end: what usually follows it would be too long from the end on."""
    found = replica().unions["o"]
    port = found.ports["s"]
    for bucket, (heard, opened) in enumerate([(0.3, True), (1.0, False), (1.3, True), (2.0, False)]):
        port.origin[bucket] = port.arrived[bucket] = heard
        if opened:
            port.opened.add(bucket)
        found.learn(bucket, 0.5 * bucket + 0.6)
    assert {key: round(usual.value, 3) for key, usual in found.usual_waits.items() if key[0] == "s"} == {
        ("s", False): 0.1,
        ("s", True): 0.3,
    }


def test_nothing_is_learned_from_what_is_sent_again():
    found = replica().unions["o"]
    port = found.ports["s"]
    port.arrived[7], port.origin[7] = 5.0, 4.2
    found.learn(7, 5.1)
    assert not found.usual_waits["s", False].times


def test_one_job_that_took_long_is_no_measure():
    """The time that is set aside for a job would make everything tentative for the next hundred."""
    usual = Usual()
    for seconds in (*[0.1] * 10, 4.0):
        usual.learn(seconds)
    assert usual.highest == 0.1
    usual.learn(4.0)
    assert usual.highest == 4.0


def test_without_a_bound_nothing_is_ever_tentative():
    """D45: also what is sent again from an earlier life, and so is as old as anything."""
    settings = replace(SETTINGS, bound=float("inf"))
    source = Source("s", ("q",), settings)
    source.handle(Started({"s": Kept(0, (Content(1, 1),))}), 0.0)
    (sent,) = [
        effect.message
        for effect in source.handle(Received("q", Subscribe("s", 1, Lane.BOTH, 0, False)), 9.0)
        if isinstance(effect, Send) and isinstance(effect.message, Stable)
    ]
    assert sent.held == 0.0
    found = Replica(replica().spec, settings)
    found.ports["s"].origin[0] = found.ports["s"].arrived[0] = float("-inf")
    assert found.unions["o"].tentative_range(1e9) is None


def test_what_is_usual_is_the_median_and_the_highest_of_the_last_hundred():
    usual = Usual()
    assert (usual.value, usual.highest) == (0.0, 0.0)
    for seconds in (3.0, 1.0, 2.0):
        usual.learn(seconds)
    assert (usual.value, usual.highest) == (2.0, 3.0)
    usual, found = Usual(), {}
    for seconds in range(1, 120):
        usual.learn(float(seconds))
        found[seconds] = (usual.value, usual.highest, len(usual.times))
    assert found[9] == (5.0, 9.0, 9)
    assert found[10] == (6.0, 9.0, 10), "of ten or more the longest is no measure"
    assert found[119] == (70.0, 118.0, 100)
