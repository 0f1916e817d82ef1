"""Versions that read other streams, or more of the past, than those before them (X9, L58)."""

from __future__ import annotations

import pytest

from auroral.dpc.events import (
    Disconnected,
    Evaluate,
    Evaluated,
    KeepLayout,
    Learned,
    Propose,
    Received,
    Report,
    Send,
    Started,
)
from auroral.dpc.layout import Layout, Topology, Wiring
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings, WhenFull
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.values import Content, Decided, Pong, Prepare, Promise, Rewire, Rewired, Stable
from auroral.dpc.versions import Decision, Plan, Reading, Versions

SETTINGS = Settings(bucket=0.5, bound=3.0)
AHEAD = 6
"""Buckets in which the others can promise."""
BOTH = Reading({"s": 3, "t": 2}, (frozenset("s"), frozenset("t")))


def replica(settings: Settings = SETTINGS, folds: bool = False, durable: bool = True) -> Replica:
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("client",), folds=folds)
    found = Replica(ReplicaSpec("q@a", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, durable=durable), settings)
    found.handle(Started(), 0.0)
    return found


def learned(found: Replica, *known: str) -> Replica:
    """The version is known, and of these streams who gives them."""
    found.handle(Learned(1, {"o": BOTH}, {"t": ("t",)}), 0.0)
    if known:
        wiring = Wiring({name: (name.upper(),) for name in known}, {"o": ("client",)})
        effects = found.handle(Received("catalog", Rewire(1, wiring)), 0.0)
        assert Send("catalog", Rewired(1)) in effects
    return found


def given(found: Replica, stream: str, begin: int, count: int, now: float) -> list[Evaluate]:
    """Jobs that this leads to are done at once."""
    port = found.ports[stream]
    port.numbers[stream.upper()] = 1
    contents = tuple(Content(10 * bucket, 1) for bucket in range(begin, begin + count))
    jobs, effects = [], found.handle(Received(stream.upper(), Stable(stream, 1, begin, contents)), now)
    while asked := [effect for effect in effects if isinstance(effect, Evaluate)]:
        jobs += asked
        made = tuple(Content(bucket, 1) for bucket in range(asked[0].begin, asked[0].end))
        effects = found.handle(Evaluated(asked[0].job, {"o": made}), now)
    return jobs


def promise(found: Replica, attempt: int, now: float) -> Promise | None:
    effects = found.handle(Received("catalog", Prepare(1, attempt)), now)
    return next((e.message for e in effects if isinstance(e, Send) and isinstance(e.message, Promise)), None)


# A replica


def test_a_new_input_is_asked_for_when_it_is_said_who_gives_it():
    found = learned(replica())
    refused = found.handle(Received("catalog", Rewire(1, Wiring({"s": ("S",), "x": ("X",)}, {"o": ("client",)}))), 0.0)
    assert any(isinstance(e, Report) and e.kind == "refused" for e in refused), "nobody knows what x is computed from"
    learned(found, "s", "t")
    assert set(found.unions["o"].ports) == {"s", "t"} and found.ports["t"].resuming


def test_nothing_is_promised_before_the_new_input_says_where_it_begins():
    found = learned(replica(), "s", "t")
    given(found, "s", 0, 10, 1.0)
    assert promise(found, 1, 1.0) is None
    given(found, "t", 40, 1, 1.0)
    assert promise(found, 1, 1.0) == Promise(1, 1, 42), "nothing before bucket 41 was said to be needed"


def test_a_version_begins_no_earlier_than_what_it_reads_of_the_past_is_there():
    found = learned(replica(), "s", "t")
    given(found, "t", 0, 1, 1.0)
    given(found, "s", 0, 10, 1.0)
    assert promise(found, 1, 1.0) == Promise(1, 1, max(10 + AHEAD, 10 + 2))
    assert found.unions["o"].reads_from("s", 10) == 10, "s alone until then"
    given(found, "s", 10, 10, 1.1)
    assert found.outlets["o"].frontier == 16, "no further than was promised"
    assert found.unions["o"].reads_from("s", 16) == 14


def test_what_was_promised_may_be_void_so_both_versions_have_what_they_read():
    versions = Versions(Plan((0,), 20, 1), {1: {"o": Reading({"t": 1}, ())}})
    assert versions.ranges == [(0, 0, 1 << 62), (1, 20, 1 << 62)]
    versions.plan = Plan((0, 20), None, 1)
    assert versions.ranges == [(0, 0, 20), (1, 20, 1 << 62)]


def test_each_bucket_is_computed_from_what_its_version_reads():
    found = learned(replica(), "s", "t")
    given(found, "t", 0, 1, 1.0)
    given(found, "s", 0, 10, 1.0)
    assert promise(found, 1, 1.0) is not None
    found.handle(Received("catalog", Decided(Decision((0, 16), 1))), 1.0)
    (before,) = given(found, "s", 10, 20, 1.1)
    assert (before.begin, before.end, before.version) == (10, 16, 0), "t is not waited for before"
    assert {name for name, contents in before.view.items() if contents} == {"s"}
    (behind,) = given(found, "t", 1, 20, 1.2)
    assert (behind.begin, behind.end, behind.version) == (16, 21, 1)
    assert (set(behind.view["s"]), set(behind.view["t"])) == (set(range(14, 21)), set(range(15, 21)))


def test_what_only_another_version_reads_is_no_failure():
    found = learned(replica(), "s", "t")
    given(found, "s", 0, 10, 1.0)
    union = found.unions["o"]
    assert set(union.used) == {"s"}
    found.handle(Received("catalog", Decided(Decision((0, 9), 1))), 1.0)
    assert set(union.used) == {"s", "t"}


def test_what_the_present_version_needs_is_missed_though_the_first_did_not_read_it():
    found = learned(replica(), "s", "t")
    given(found, "s", 0, 10, 1.0)
    union = found.unions["o"]
    found.handle(Received("catalog", Decided(Decision((0, 9), 1))), 1.0)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 10, 0)}, {})), 1.1)
    found.handle(Disconnected("T"), 1.1)
    assert found.ports["t"].cut_off(found.monitor, 1.2) and not found.ports["s"].cut_off(found.monitor, 1.2)
    assert union.state(1.2) is State.FAILURE


def test_versions_that_are_not_named_read_what_the_one_before_reads():
    versions = Versions(readings={1: {"o": BOTH}})
    assert [versions.reading("o", version) for version in (0, 1, 2)] == [None, BOTH, BOTH]
    assert versions.reading("other", 2) is None


def test_a_fold_goes_on_with_what_it_reads():
    found = replica(folds=True)
    effects = found.handle(Learned(1, {"o": BOTH}, {"t": ("t",)}), 0.0)
    assert any(isinstance(e, Report) and "fold" in e.detail for e in effects)
    assert not found.versions.readings


def test_where_full_buffers_block_windows_that_do_not_fit_are_refused():
    found = replica(Settings(bucket=0.5, bound=3.0, most_kept=2, when_full=WhenFull.BLOCK))
    effects = found.handle(Learned(1, {"o": BOTH}, {"t": ("t",)}), 0.0)
    assert any(isinstance(e, Report) and "nothing would go on" in e.detail for e in effects)
    assert not found.versions.readings


# The catalog

TOPOLOGY = Topology(
    {"f": ("s",), "w": ("f.out",)}, {"f": ("f.out",), "w": ("w.out",)}, {"s": "S", "t": "T"}, {"client": ("w.out",)}
)
LAYOUT = Layout({"f": ("f@a",), "w": ("w@a",)})


def test_who_gives_the_input_and_who_reads_it_know_of_it_before_anybody_promises():
    catalog = Reconfiguration(TOPOLOGY, LAYOUT)
    catalog.handle(Started(), 0.0)
    for core in ("S", "T", "f@a", "w@a", "client"):
        catalog.handle(Received(core, Rewired(0)), 0.0)
    effects = catalog.handle(Propose("w", ("t",)), 0.1)
    (rewired,) = [e.message for e in effects if isinstance(e, Send) and e.to == "T"]
    assert rewired.wiring.readers == {"t": ("w@a",)}
    assert [e.layout.added for e in effects if isinstance(e, KeepLayout)][-1] == {"w": ("t",)}

    def asks() -> bool:
        later = catalog.handle(Received("S", Rewired(1)), 1.0)
        return any(isinstance(e, Send) and isinstance(e.message, Prepare) for e in later)

    assert not asks()
    catalog.handle(Received("T", Rewired(1)), 0.2)
    assert not asks(), "the replica would have to ask for it first"
    catalog.handle(Received("w@a", Rewired(1)), 1.1)
    assert catalog.change is not None and catalog.change.asking


@pytest.mark.parametrize(("query", "stream"), [("f", "w.out"), ("f", "f.out"), ("w", "nothing")])
def test_what_nobody_gives_or_is_made_of_itself_cannot_be_read(query, stream):
    catalog = Reconfiguration(TOPOLOGY, LAYOUT)
    effects = catalog.handle(Propose(query, (stream,)), 0.0)
    assert any(isinstance(e, Report) and e.kind == "refused" and stream in e.detail for e in effects)
    assert not catalog.layout.wanted


def test_two_changes_that_wait_cannot_make_a_loop():
    topology = Topology({"a": ("s",), "b": ("s",)}, {"a": ("x",), "b": ("y",)}, {"s": "S"}, {"client": ("x", "y")})
    catalog = Reconfiguration(topology, Layout({"a": ("a@n",), "b": ("b@n",)}))
    catalog.handle(Propose("a", ("y",)), 0.0)
    effects = catalog.handle(Propose("b", ("x",)), 0.0)
    assert any(isinstance(e, Report) and e.kind == "refused" for e in effects)
