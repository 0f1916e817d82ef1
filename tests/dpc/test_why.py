"""Every core tells the story of an output in words."""

from __future__ import annotations

from dataclasses import replace

from auroral.dpc.client import Client
from auroral.dpc.coverage import AtLeast
from auroral.dpc.events import Evaluated, Kept, Logged, MoveTo, Propose, Received, Started, Woken
from auroral.dpc.layout import Layout, Topology
from auroral.dpc.port import cut_off_of
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings, WhenFull
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.values import Ack, Content, Hashes, Ping, Pong, Prepare, Stable
from auroral.dpc.versions import NO_CHANGE
from auroral.dpc.why import arranged, waits_for, why

SETTINGS = Settings(bucket=0.5, bound=3.0)


def replica(join: bool = False, recovering: bool = False, *constraints: AtLeast) -> Replica:
    required = (frozenset("s"), frozenset("t")) if join else (frozenset("st"),)
    output = OutputSpec("o", {"s": 1, "t": 1}, required, (), constraints)
    spec = ReplicaSpec("q", {"s": ("S",), "t": ("T", "T2")}, {"s": ("s",), "t": ("t",)}, {"o": output})
    found = Replica(spec, SETTINGS, recovering)
    found.handle(Started(), 0.0)
    for source, stream in (("S", "s"), ("T", "t")):
        found.handle(Received(source, Pong({stream: Offer(State.STABLE)}, {})), 0.0)
    return found


def test_an_output_that_is_well():
    story = why(replica(), "o", 0.4)
    assert str(story).splitlines() == [
        "o is in STABLE since 0.00 s, stable before bucket 0",
        "  s is read from S, both lanes, subscription 1",
        "  t is read from T, both lanes, subscription 1",
    ]


def failed(found: Replica) -> Replica:
    """Only s gives anything."""
    for bucket in range(6):
        found.handle(Received("S", Stable("s", 1, bucket, (Content(bucket, 1),))), 0.5 * (bucket + 1))
        found.handle(Received("S", Pong({"s": Offer(State.STABLE)}, {})), 0.5 * (bucket + 1))
    return found


def test_an_input_that_is_missed():
    found = failed(replica())
    story = why(found, "o", 3.1)
    assert (story.state, story.frontier) == (State.UP_FAILURE, 0)
    assert 0 < story.since <= 2.1
    assert "t misses bucket 0, nothing came since 0.00 s: T is in FAILURE, T2 is in FAILURE" in story.because
    assert "bucket 0 waits for t until 3.54 s at most" in story.because
    assert cut_off_of(found.unions["o"].used.values(), found.monitor, 3.1) == ["t"]
    found.handle(Woken(), 3.5)
    assert any(line.startswith("job 1 makes bucket 0 tentative") for line in why(found, "o", 3.5).because)


def test_a_join_and_a_constraint_hold_back():
    assert "bucket 0 is blocked: it cannot be computed without t" in why(failed(replica(join=True)), "o", 3.1).because
    held = failed(replica(False, False, AtLeast(2, frozenset("st"))))
    assert "bucket 0 is held back: too few of its sources are in it" in why(held, "o", 3.1).because


def test_a_replica_that_came_back():
    story = why(replica(recovering=True), "o", 0.2)
    assert "it came back at 0.00 s and is mute until it is as far as its inputs" in story.because
    assert "s waits to be told where to begin: S is in STABLE" in story.because


def test_replicas_that_differ():
    found = replica()
    list(found.comparisons["o"].made(3, 13))
    list(found.comparisons["o"].heard("q2", Hashes(3, (14,))))
    found.handle(Woken(), 0.2)
    story = why(found, "o", 0.3)
    assert story.state is State.FAILURE and found.offers(0.3)["o"].state is State.FAILURE
    assert any("it made something else of bucket 3 than q2" in line for line in story.because)


def test_a_full_source_names_the_slowest_reader():
    source = Source("s", ("a", "b"), replace(SETTINGS, most_kept=2, when_full=WhenFull.BLOCK))
    source.handle(Started({"s": Kept(3, (Content(3, 1),))}), 1.0)
    for reader, need in (("a", 9), ("b", 3)):
        source.handle(Received(reader, Ping({"s": Ack(need, 0.0)}, {})), 1.1)
    assert why(source, "s", 1.2).because == ()
    source.handle(Logged(4, Content(4, 1), True), 1.5)
    story = why(source, "s", 1.6)
    assert story.because == (
        "its buffer is full: b may still ask for bucket 3",
        "nothing is taken in until there is room",
    )
    assert (story.since, story.frontier) == (1.0, 5)


def test_a_client_says_whom_it_reads():
    client = Client("c", {"o": ("a", "b")}, SETTINGS)
    client.handle(Started({"o": Kept(4)}), 0.0)
    client.handle(Received("a", Pong({"o": Offer(State.UP_FAILURE)}, {})), 0.1)
    assert str(why(client, "o", 0.2)).splitlines() == [
        "o is in UP_FAILURE since 0.00 s, stable before bucket 4",
        "  o misses bucket 4, nothing came since 0.00 s: a is in UP_FAILURE, b is in FAILURE",
        "  o is read from a, both lanes, subscription 1",
    ]


def test_what_is_guessed_and_what_is_promised():
    found = failed(replica())
    found.handle(Woken(), 3.5)
    found.handle(Evaluated(1, {"o": (Content(0, 1),)}), 3.7)
    found.jobs.running.clear()
    because = why(found, "o", 3.7).because
    assert "bucket 0 may have been given out tentatively, to be corrected" in because
    assert any(line.startswith("bucket 1 waits for t") for line in because)
    found.outlets["o"].newest, found.turns.stagger.wanted = 2, True
    because = why(found, "o", 3.7).because
    assert "buckets 0 to 2 may have been given out tentatively, to be corrected" in because
    assert "it takes turns in correcting" in because
    found.turns.stagger.promised = {"q2": 9.0}
    assert "it keeps answering while q2 corrects" in why(found, "o", 3.7).because


def test_a_job_that_makes_buckets_stable():
    found = replica()
    for source, stream in (("S", "s"), ("T", "t")):
        found.handle(Received(source, Stable(stream, 1, 0, (Content(0, 1), Content(1, 1)))), 0.5)
    assert "job 1 makes buckets 0 to 1 stable since 0.50 s" in why(found, "o", 0.6).because
    assert not [line for line in why(found, "o", 0.6).because if "bucket 2" in line], "nothing was heard of it"


def test_without_a_bound_there_is_no_time_at_most():
    """D45."""
    found = replica()
    found.unions["o"].settings = replace(SETTINGS, bound=float("inf"))
    assert not [line for line in why(failed(found), "o", 3.1).because if "at most" in line]


def test_a_bound_that_is_too_short_for_the_work():
    found = replica()
    found.usual_job.learn(2.0)
    assert [line for line in why(found, "o", 0.4).because if line.startswith("bound too short: the bound is 3 s; ")]


def test_the_catalog_tells_who_makes_an_output_and_what_of_that_is_under_way():
    topology = Topology({"u": ("s",)}, {"u": ("o",)}, {"s": "s@s"}, {"client": ("o",)})
    found = Reconfiguration(topology, Layout({"u": ("u@a", "u@b")}))
    found.handle(Started(), 0.0)
    assert list(arranged(found, "o")) == ["o is made by u, which runs on u@a, u@b"]
    found.handle(MoveTo("u", "u@b", "u@c"), 0.1)
    found.handle(Propose("u"), 0.2)
    told = list(arranged(found, "o"))
    assert told[1].startswith("it moves to u@a, u@c: those that give its inputs are to keep what the new replica needs")
    assert told[2] == "it waits for s@s to say so"
    assert told[3] == "its next version waits for u"


def test_a_change_that_is_not_decided_is_told_by_the_catalog_and_by_those_that_promised():
    topology = Topology({"q": ("s", "t")}, {"q": ("o",)}, {"s": "S", "t": "T"}, {"client": ("o",)})
    catalog, found = Reconfiguration(topology, Layout({"q": ("q", "p")})), replica()
    catalog.handle(Started(), 0.0)
    catalog.handle(Propose("q"), 0.1)
    assert "it gets version 1: q, p has not promised yet where, in attempt 1" in list(arranged(catalog, "o"))
    found.handle(Received("catalog", Prepare(1, 1)), 0.4)
    limit = found.versions.plan.limit
    assert not any("until a change" in line for line in why(found, "o", 0.4).because)
    list(found.unions["o"].outlet.give_stable([Content(bucket, 1) for bucket in range(limit)], 0.5))
    said = f"nothing from bucket {limit} on is made stable until a change that it promised to wait for is decided"
    assert said in why(found, "o", 0.5).because
    assert (
        "it waits for the catalog to say where version 1 begins, or that attempt 1 at it is void"
        in why(found, "o", 0.5).because
    )
    assert waits_for(found, "o") is None, "its inputs are no further"
    for port in found.ports.values():
        port.frontier = limit + 10
    told = waits_for(found, "o")
    assert (
        told == f"the catalog, to decide where version 1 begins: nothing from bucket {limit} on is made stable before"
    )
    found.versions.plan = NO_CHANGE
    assert waits_for(found, "o") is None
