"""A replica of a query goes to another node: phase by phase, and what is decided survives a crash of the catalog (X9, L55)."""

from __future__ import annotations

from auroral.dpc.events import Effect, KeepLayout, Moved, MoveTo, Received, Send, Started, Woken
from auroral.dpc.layout import Layout, Phase, Topology
from auroral.dpc.moving import Mover
from auroral.dpc.values import Ping, Pong, Rewire, Rewired

TOPOLOGY = Topology(
    {"f": ("s",), "w": ("f.out",)}, {"f": ("f.out",), "w": ("w.out",)}, {"s": "S"}, {"client": ("w.out",)}
)
BEFORE = Layout({"f": ("f@a", "f@b"), "w": ("w@a", "w@b")})
WANTED = MoveTo("f", "f@a", "f@c")


class Catalog:
    """Everyone answers at once, but those that are away; new replicas are right when that is said."""

    def __init__(self, layout: Layout | None = None, away: frozenset[str] = frozenset()) -> None:
        self.away, self.right = away, False
        self.mover = Mover(TOPOLOGY, BEFORE)
        self.layouts: list[Layout] = []
        self.told: dict[str, Rewire] = {}
        self.moved: list[int] = []
        self.now = 0.0
        self.hears(Started(layout=layout))

    def hears(self, event: Started | MoveTo | Received | Woken) -> None:
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
                case Send(to, Ping()) if to not in self.away and self.right:
                    self.hears(Received(to, Pong({}, {})))
                case _:
                    pass


def test_a_move_from_its_beginning_to_its_end():
    catalog = Catalog()
    catalog.hears(WANTED)
    catalog.wait()
    assert [layout.phase for layout in catalog.layouts] == [Phase.PREPARE, Phase.START]
    assert catalog.told["S"].wiring.readers == {"s": ("f@a", "f@b", "f@c")}, "kept for the new one before it starts"
    assert catalog.mover.layout.running("f") == ("f@a", "f@b", "f@c")
    assert catalog.mover.layout.read_from("f") == ("f@a", "f@b"), "it is not right yet"
    catalog.right = True
    catalog.wait()
    assert [layout.moving for layout in catalog.layouts] == ["f", "f", "f", None]
    assert catalog.mover.layout.members == {"f": ("f@c", "f@b"), "w": ("w@a", "w@b")}
    assert catalog.told["w@a"].wiring.inputs == {"f.out": ("f@c", "f@b")}
    assert catalog.told["S"].wiring.readers == {"s": ("f@c", "f@b")}
    assert catalog.moved == [4] and not catalog.mover.untold


def test_those_before_it_must_know_before_it_starts_and_those_behind_it_before_the_old_one_ends():
    catalog = Catalog(away=frozenset({"S"}))
    catalog.hears(WANTED)
    catalog.wait()
    assert [layout.phase for layout in catalog.layouts] == [Phase.PREPARE]
    catalog.away, catalog.right = frozenset({"w@b"}), True
    catalog.wait()
    assert catalog.mover.layout.phase is Phase.READ and "f@a" in catalog.mover.layout.running("f")
    catalog.away = frozenset()
    catalog.wait()
    assert catalog.mover.layout.running("f") == ("f@c", "f@b")


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
