"""A replica of a query goes to another node: phase by phase, and what is decided survives a crash of the catalog (X9, L55)."""

from __future__ import annotations

import pytest

from auroral.dpc.client import Client
from auroral.dpc.events import (
    Effect,
    GiveUp,
    KeepLayout,
    Kept,
    Moved,
    MoveTo,
    Received,
    Report,
    Send,
    Started,
    Woken,
)
from auroral.dpc.layout import Layout, Phase, Topology, Wiring
from auroral.dpc.outlet import Outlet
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source
from auroral.dpc.states import State
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.switching import Offer
from auroral.dpc.values import Ack, Ping, Pong, Rewire, Rewired, Stable, Subscribe, Unsubscribe, WantState

TOPOLOGY = Topology(
    {"f": ("s",), "w": ("f.out",)}, {"f": ("f.out",), "w": ("w.out",)}, {"s": "S"}, {"client": ("w.out",)}
)
BEFORE = Layout({"f": ("f@a", "f@b"), "w": ("w@a", "w@b")})
SETTINGS = Settings(bucket=0.5, bound=3.0)
WANTED = MoveTo("f", "f@a", "f@c")


class Catalog:
    """Everyone answers at once, but those that are away; new replicas are right when that is said."""

    def __init__(self, layout: Layout | None = None, away: frozenset[str] = frozenset()) -> None:
        self.away, self.right = away, False
        self.states: dict[str, State] = {}
        self.mover = Reconfiguration(TOPOLOGY, BEFORE)
        self.layouts: list[Layout] = []
        self.told: dict[str, Rewire] = {}
        self.moved: list[int] = []
        self.now = 0.0
        self.hears(Started(layout=layout))

    def hears(self, event: Started | MoveTo | GiveUp | Received | Woken) -> None:
        self.now += 0.01
        self.carry_out(self.mover.handle(event, self.now))

    def wait(self) -> None:
        for _ in range(20):
            self.now += 0.5
            self.carry_out(self.mover.handle(Woken(), self.now))

    def carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case KeepLayout(layout):
                    self.layouts.append(layout)
                case Moved(number):
                    self.moved.append(number)
                case Send(to, Rewire(number) as said) if to not in self.away:
                    self.told[to] = max(said, self.told.get(to, said), key=lambda one: one.number)
                    self.hears(Received(to, Rewired(number)))
                case Send(to, Ping()) if to not in self.away and (self.right or to in BEFORE.members["f"]):
                    self.hears(Received(to, Pong({"f.out": Offer(self.states.get(to, State.STABLE))}, {})))
                case _:
                    pass


def test_a_move_from_its_beginning_to_its_end():
    catalog = Catalog()
    catalog.hears(WANTED)
    catalog.wait()
    assert [layout.phase for layout in catalog.layouts[1:]] == [Phase.PREPARE, Phase.START]
    assert catalog.told["S"].wiring.readers == {"s": ("f@a", "f@b", "f@c")}, "kept for the new one before it starts"
    assert catalog.mover.layout.running("f") == ("f@a", "f@b", "f@c")
    assert catalog.told["w@a"].wiring.inputs == {"f.out": ("f@a", "f@b", "f@c")}, "known before it is needed"
    catalog.right = True
    catalog.wait()
    assert [layout.moving for layout in catalog.layouts] == [None, "f", "f", "f", None]
    assert catalog.mover.layout.members == {"f": ("f@c", "f@b"), "w": ("w@a", "w@b")}
    assert catalog.told["w@a"].wiring.inputs == {"f.out": ("f@c", "f@b")}
    assert catalog.told["S"].wiring.readers == {"s": ("f@c", "f@b")}
    assert catalog.moved == [4] and not catalog.mover.untold


def test_those_before_it_must_know_before_it_starts_and_those_behind_it_before_the_old_one_ends():
    catalog = Catalog(away=frozenset({"S"}))
    catalog.hears(WANTED)
    catalog.wait()
    assert catalog.layouts[-1].phase is Phase.PREPARE
    catalog.away, catalog.right = frozenset({"w@b"}), True
    catalog.wait()
    assert catalog.mover.layout.phase is Phase.READ and "f@a" in catalog.mover.layout.running("f")
    catalog.away = frozenset()
    catalog.wait()
    assert catalog.mover.layout.running("f") == ("f@c", "f@b")


@pytest.mark.parametrize(
    ("old", "new", "moves"),
    [
        (State.STABLE, State.FAILURE, False),
        (State.STABLE, State.UP_FAILURE, False),
        (State.UP_FAILURE, State.FAILURE, False),
        (State.UP_FAILURE, State.UP_FAILURE, True),
        (State.FAILURE, State.FAILURE, True),
        (State.STABLE, State.STABILIZATION, True),
    ],
)
def test_a_new_one_that_lacks_an_input_does_not_take_the_place_of_one_that_has_it(old, new, moves):
    catalog = Catalog()
    catalog.right, catalog.states = True, {"f@a": old, "f@b": State.FAILURE, "f@c": new}
    catalog.hears(WANTED)
    catalog.wait()
    assert (catalog.mover.layout.members["f"] == ("f@c", "f@b")) is moves
    catalog.states["f@c"] = State.STABLE
    catalog.wait()
    assert catalog.mover.layout.members["f"] == ("f@c", "f@b")


def test_one_that_lacks_an_input_takes_the_place_of_those_that_are_dead_after_a_while():
    catalog = Catalog(away=frozenset({"f@a", "f@b"}))
    catalog.right, catalog.states = True, {"f@c": State.FAILURE}
    catalog.hears(WANTED)
    assert catalog.mover.layout.phase is Phase.START
    catalog.wait()
    assert catalog.mover.layout.members["f"] == ("f@c", "f@b")


def test_what_one_said_before_it_died_does_not_count():
    catalog = Catalog()
    catalog.right, catalog.states = True, {"f@c": State.UP_FAILURE}
    catalog.hears(WANTED)
    catalog.wait()
    assert catalog.mover.layout.phase is Phase.START
    catalog.away = frozenset({"f@a", "f@b"})
    catalog.wait()
    assert catalog.mover.layout.members["f"] == ("f@c", "f@b")


def test_what_one_said_in_an_earlier_move_does_not_count():
    """It was stopped since, and begins with nothing."""
    catalog = Catalog()
    catalog.right = True
    for wanted in (WANTED, MoveTo("f", "f@c", "f@d")):
        catalog.hears(wanted)
    assert catalog.mover.layout.members["f"] == ("f@d", "f@b")
    catalog.right = False
    catalog.hears(MoveTo("f", "f@d", "f@c"))
    catalog.wait()
    assert catalog.mover.layout.phase is Phase.START and catalog.mover.layout.moving == "f"


def test_one_that_is_dead_can_be_moved_away_from():
    catalog = Catalog(away=frozenset({"f@a", "f@b"}))
    catalog.right = True
    catalog.hears(WANTED)
    catalog.wait()
    assert catalog.mover.layout.running("f") == ("f@c", "f@b")
    assert set(catalog.mover.untold) == {"f@b"}, "told until it knows"


def test_a_catalog_that_comes_back_goes_on_with_what_was_written_down():
    first = Catalog()
    first.hears(WANTED)
    first.wait()
    for layout in first.layouts:
        second = Catalog(layout)
        assert set(second.told) >= {"S", "w@a", "w@b", "client"}
        second.right = True
        second.wait()
        assert second.mover.layout.members["f"] == ("f@c", "f@b")


def test_moves_take_turns_and_one_that_makes_no_sense_is_left_out():
    catalog = Catalog()
    catalog.right = True
    for wanted in (WANTED, MoveTo("f", "f@a", "f@d"), MoveTo("f", "f@b", "f@c"), MoveTo("f", "f@c", "f@d")):
        catalog.hears(wanted)
    catalog.wait()
    assert catalog.mover.layout.members["f"] == ("f@d", "f@b")
    assert len(catalog.moved) == 2


def test_a_move_that_waits_in_vain_can_be_given_up_and_others_follow():
    catalog = Catalog()
    for wanted in (WANTED, MoveTo("f", "f@a", "f@d"), MoveTo("w", "w@a", "w@c")):
        catalog.hears(wanted)
    catalog.wait()
    assert catalog.mover.layout.phase is Phase.START and catalog.mover.layout.moving == "f"
    catalog.right = True
    catalog.away = frozenset({"f@c"})
    catalog.hears(GiveUp("f"))
    catalog.wait()
    assert catalog.mover.layout.members == {"f": ("f@a", "f@b"), "w": ("w@c", "w@b")}
    catalog.hears(MoveTo("f", "f@a", "f@d"))
    catalog.wait()
    assert catalog.mover.layout.members["f"] == ("f@d", "f@b")


def test_a_move_whose_new_replica_died_for_good_can_be_given_up_and_begun_again_with_another():
    """Also where the others have gone over: they are told to read from the old one again."""
    catalog = Catalog(away=frozenset({"w@b"}))
    catalog.right = True
    catalog.hears(WANTED)
    catalog.wait()
    assert catalog.mover.layout.phase is Phase.READ
    catalog.told.clear()
    catalog.away = frozenset({"f@c", "w@b"})
    catalog.hears(GiveUp("f"))
    going_back = next(layout for layout in catalog.layouts if layout.back)
    assert going_back.read_from("f") == ("f@c", "f@b", "f@a"), "until the old one has answered"
    (said,) = [effect for effect in catalog.mover.handle(GiveUp("f"), catalog.now) if isinstance(effect, Report)]
    assert said.kind == "refused", "it is being given up"
    catalog.wait()
    assert catalog.told["w@a"].wiring.inputs == {"f.out": ("f@a", "f@b")} and catalog.mover.layout.moving == "f"
    catalog.away = frozenset({"f@c"})
    catalog.wait()
    assert catalog.mover.layout.running("f") == ("f@a", "f@b") and catalog.mover.layout.moving is None
    assert not catalog.mover.layout.back
    catalog.hears(MoveTo("f", "f@a", "f@d"))
    catalog.wait()
    assert catalog.mover.layout.members["f"] == ("f@d", "f@b")


def test_what_is_not_under_way_is_not_given_up():
    catalog = Catalog()
    catalog.hears(WANTED)
    catalog.hears(MoveTo("w", "w@a", "w@c"))
    before = catalog.mover.layout
    for query in ("w", "x"):
        (said,) = [effect for effect in catalog.mover.handle(GiveUp(query), 1.0) if isinstance(effect, Report)]
        assert (said.kind, said.stream) == ("refused", query)
    assert catalog.mover.layout == before


def test_what_waits_survives_the_catalog():
    first = Catalog()
    first.hears(WANTED)
    first.hears(MoveTo("w", "w@a", "w@c"))
    second = Catalog(first.layouts[-1])
    second.right = True
    second.wait()
    assert second.mover.layout.members == {"f": ("f@c", "f@b"), "w": ("w@c", "w@b")}


def test_what_cannot_be_moved_is_refused():
    catalog = Catalog()
    for wanted in (MoveTo("f", "f@x", "f@c"), MoveTo("f", "f@a", "f@b"), MoveTo("nothing", "a", "b")):
        (said,) = [effect for effect in catalog.mover.handle(wanted, 1.0) if isinstance(effect, Report)]
        assert said.kind == "refused" and wanted.comes in said.detail


def reader(frontier: int) -> Replica:
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",))
    found = Replica(ReplicaSpec("q", {"s": ("a",)}, {"s": ("s",)}, {"o": output}), SETTINGS)
    found.handle(Started(), 0.0)
    found.ports["s"].start_at(frontier)
    list(found.outlets["o"].begin(frontier))
    return found


def test_who_finds_what_it_needs_nowhere_else_does_not_go_over():
    """D69: what a replica keeps on its disk goes with it."""
    found = reader(frontier=7)

    def told(number: int, *producers: str) -> bool:
        said = found.handle(Received("m", Rewire(number, Wiring({"s": producers}, {"o": ("r",)}))), 1.0)
        return Send("m", Rewired(number)) in said

    assert "c" not in found.monitor.peers and not told(1, "c") and "c" in found.monitor.peers, "who is new is asked"
    assert told(1, "a", "b"), "nobody is left"
    assert not told(2, "b"), "nothing was heard of it"
    asked = [e.to for e in found.handle(Received("m", Rewire(2, Wiring({"s": ("b",)}))), 1.05) if isinstance(e, Send)]
    assert "b" in found.monitor.peers and "b" not in asked, (
        "it was asked when this was first said, and not again at once"
    )
    found.handle(Received("b", Pong({"s": Offer(State.STABLE, True, 20, 8)}, {})), 1.1)
    assert not told(2, "b"), "it has not bucket 7"
    found.handle(Received("b", Pong({"s": Offer(State.STABLE, True, 20, 7)}, {})), 1.2)
    found.handle(Received("a", Pong({"s": Offer(State.STABLE, True, 20, 7)}, {})), 1.2)
    left = found.handle(Received("m", Rewire(2, Wiring({"s": ("b",)}, {"o": ("r",)}))), 1.3)
    assert [e.to for e in left if isinstance(e, Send) and isinstance(e.message, Unsubscribe)] == ["a"]
    assert told(2, "b") and found.ports["s"].producers == ("b",)
    assert not told(1, "a", "b"), "of an earlier layout"


def test_who_goes_over_reads_from_another_at_once_and_gives_to_others():
    found = reader(frontier=7)
    found.handle(Received("m", Rewire(1, Wiring({"s": ("a", "b")}, {"o": ("r",)}))), 0.01)
    for name in "ba":
        found.handle(Received(name, Pong({"s": Offer(State.STABLE, True, 20, 7)}, {})), 0.02)
    (left,) = (producer for producer in "ab" if producer not in found.ports["s"].lanes)
    said = found.handle(Received("m", Rewire(2, Wiring({"s": (left,)}, {"o": ("r", "x")}))), 0.03)
    assert [e.to for e in said if isinstance(e, Send) and isinstance(e.message, Subscribe)] == [left]
    assert found.outlets["o"].readers_expected == ("r", "x")


def test_a_fold_asks_those_for_its_state_that_are_there_now():
    output = OutputSpec("o", {"s": 1}, (frozenset("s"),), ("r",), folds=True)
    spec = ReplicaSpec("q", {"s": ("S",)}, {"s": ("s",)}, {"o": output}, ("p",))
    found = Replica(spec, SETTINGS, recovering=True)
    found.handle(Started(), 0.0)
    found.handle(Received("m", Rewire(1, Wiring({"s": ("S",)}, {"o": ("r",)}, ("z",)))), 0.01)
    found.handle(Received("S", Pong({"s": Offer(State.STABLE, True, 60, 51)}, {})), 0.1)
    said = found.handle(Received("S", Stable("s", 1, 51, ())), 0.2)
    assert [e.to for e in said if isinstance(e, Send) and isinstance(e.message, WantState)] == ["z"]


@pytest.mark.parametrize(
    ("new", "old", "goes"),
    [
        (Offer(State.STABLE, True, 19, 0), Offer(State.STABLE, True, 20, 0), True),
        (Offer(State.STABLE, True, 2, 0), Offer(State.STABLE, True, 20, 0), False),
        (Offer(State.FAILURE, True, 2, 0), Offer(State.FAILURE, True, 20, 0), False),
        (Offer(State.UP_FAILURE, True, 20, 0), Offer(State.STABLE, True, 20, 0), False),
        (Offer(State.UP_FAILURE, True, 20, 0), Offer(State.UP_FAILURE, True, 20, 0), True),
        (Offer(State.UP_FAILURE, True, 20, 0), None, True),
        (Offer(State.STABLE, True, 2, 0), None, False),
    ],
)
def test_a_reader_goes_over_to_one_that_is_about_as_far_and_no_worse(new, old, goes):
    """Whatever the catalog thinks, which may not reach those that are left: the reader sees both."""
    found = reader(frontier=20)
    found.handle(Received("m", Rewire(1, Wiring({"s": ("a", "b")}, {"o": ("r",)}))), 1.0)
    found.handle(Received("b", Pong({"s": new}, {})), 1.1)
    if old is not None:
        found.handle(Received("a", Pong({"s": old}, {})), 1.1)
    said = found.handle(Received("m", Rewire(2, Wiring({"s": ("b",)}, {"o": ("r",)}))), 1.2)
    assert (Send("m", Rewired(2)) in said) is goes


def test_a_wiring_that_cannot_be_is_refused():
    found = reader(frontier=0)
    for wrong in (Wiring({"x": ("a",)}), Wiring(readers={"x": ("a",)})):
        (said,) = found.handle(Received("m", Rewire(9, wrong)), 0.05)[:1]
        assert isinstance(said, Report) and said.kind == "refused" and found.wired == 0
    Source("s", ("q",), SETTINGS).handle(Received("m", Rewire(1, Wiring())), 0.0)


def test_what_one_that_is_gone_says_late_does_not_count():
    found = Outlet("s", ("a", "b"), SETTINGS)
    for name, reserve in (("a", 5.0), ("b", 2.0)):
        found.acknowledged(name, Ack(3, reserve))
    found.rewire(("b",))
    found.acknowledged("a", Ack(4, 2.5))
    assert (found.needs, found.reserves, found.reserve) == ({"b": 3}, {"b": 2.0}, 2.0)


def test_the_first_layout_is_told_too():
    """A catalog that comes back tells everyone what it knows."""
    source = Source("s", ("q",), SETTINGS)
    assert source.handle(Received("m", Rewire(0, Wiring(readers={"s": ("q", "r")}))), 0.0) == [Send("m", Rewired(0))]
    assert source.outlet.readers_expected == ("q", "r")
    source.handle(Received("m", Rewire(3, Wiring(readers={"s": ("r",)}))), 0.1)
    assert source.handle(Received("m", Rewire(2, Wiring(readers={"s": ("q",)}))), 0.2) == []
    assert source.outlet.readers_expected == ("r",)


def test_a_reader_does_not_wait_for_ever_for_one_that_is_as_far():
    """Where replicas take many buckets at once, one may be behind the other whenever the reader looks."""
    found = Client("c", {"s": ("a",)}, SETTINGS)
    found.handle(Started({"s": Kept(20)}), 0.0)
    found.handle(Received("m", Rewire(1, Wiring({"s": ("a", "b")}))), 1.0)

    def told(now: float, frontier: int) -> bool:
        found.handle(Received("b", Pong({"s": Offer(State.STABLE, True, frontier, 0)}, {})), now)
        found.handle(Received("a", Pong({"s": Offer(State.STABLE, True, 40, 0)}, {})), now)
        return Send("m", Rewired(2)) in found.handle(Received("m", Rewire(2, Wiring({"s": ("b",)}))), now)

    assert not told(2.0, 10)
    # What it reads goes on meanwhile.
    found.ports["s"].start_at(40)
    late = 2.0 + SETTINGS.bound + 1
    assert not told(late, 19), "it is not yet where the reader was when it was asked first"
    assert told(late + 0.1, 20)
