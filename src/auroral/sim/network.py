"""What passes between cores: in order, later or never."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, TypeVar

from auroral.sim.faults import Fault

Pair = tuple[str, str]
SLOWER = 0.3
"""Seconds that a message takes longer on a slow link."""
Message = TypeVar("Message")
Event = TypeVar("Event")


@dataclass(slots=True)
class Connection(Generic[Message]):
    """One direction between two cores. Nothing is reordered; what is sent into a cut waits, and is lost when the connection breaks."""

    latest: float = 0.0
    waiting: list[Message] = field(default_factory=list)
    number: int = 0
    gone: bool = False
    """Whether the other side died, or began a new life, without this one hearing of it: the next message tells."""
    closing: bool = False
    """Whether it broke, and the sender has not heard of it yet: what it sends until then is lost, and reaches no later life."""


@dataclass(slots=True)
class Network(Generic[Message, Event]):
    """Carries messages between living cores by the world's clock."""

    seed: int
    hosts: Mapping[str, str]
    """Where each core runs."""
    lives: Mapping[str, int]
    """Of each core, how often it was started; none of one that is down."""
    at: Callable[[float, Callable[[], None]], None]
    tell: Callable[[str, Event], None]
    received: Callable[[str, Message], Event]
    """What a core is told of a message, and of a connection that broke."""
    disconnected: Callable[[str], Event]
    latency: float = 0.005
    jitter: float = 0.005
    reset_after: float = 1.0
    """A connection that gets nothing through for so long breaks."""
    heard_within: float = 0.3
    """In which each side hears of it."""
    now: float = 0.0
    cuts: set[tuple[tuple[str, ...], bool]] = field(default_factory=set)
    """Hosts, and whether only what goes from the first to the second is stopped."""
    islands: set[frozenset[str]] = field(default_factory=set)
    slow: set[frozenset[str]] = field(default_factory=set)
    connections: dict[Pair, Connection[Message]] = field(default_factory=dict)
    random: random.Random = field(init=False)
    _stopped: dict[Pair, bool] = field(default_factory=dict)
    """By hosts: what `stops` found since the last change."""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)

    # Messages

    def send(self, sender: str, to: str, message: Message) -> None:
        pair = (sender, to)
        connection = self.connections.get(pair)
        if connection is None:
            connection = self.connections[pair] = Connection()
        if connection.closing:
            return
        if connection.gone or to not in self.lives:
            wait = self.latency if to in self.lives else self.reset_after
            self.at(self.now + wait, partial(self._find_gone, pair, connection.number))
            return
        taken = self.latency + self.random.random() * self.jitter
        if self.slow and frozenset((self.hosts[sender], self.hosts[to])) in self.slow:
            taken += SLOWER
        arrives = self.now + taken
        if arrives > connection.latest:
            connection.latest = arrives
        self.at(connection.latest, partial(self._arrive, pair, connection, connection.number, message))

    def _arrive(self, pair: Pair, connection: Connection[Message], number: int, message: Message) -> None:
        if connection.number != number:
            return
        if self.stops(pair):
            if not connection.waiting:
                self.at(self.now + self.reset_after, partial(self._time_out, pair, connection, number))
            connection.waiting.append(message)
        elif connection.waiting:
            connection.waiting.append(message)
        else:
            self.tell(pair[1], self.received(pair[0], message))

    def _find_gone(self, pair: Pair, number: int) -> None:
        if self.connections[pair].number == number:
            self.connections[pair].gone = False
            self._break(pair)

    def _time_out(self, pair: Pair, connection: Connection[Message], number: int) -> None:
        if connection.number == number and connection.waiting and self.stops(pair):
            self._break(pair)

    # Connections

    def _break(self, pair: Pair) -> None:
        """Both directions end, and both sides hear of it, one after the other."""
        self._end(pair)
        for name, peer in (pair, pair[::-1]):
            if (connection := self.connections.get((name, peer))) is not None:
                connection.closing = name in self.lives
            heard = self.now + self.random.random() * self.heard_within
            self.at(heard, partial(self._lose, name, peer, self.lives.get(name)))

    def _end(self, pair: Pair) -> None:
        for direction in (pair, pair[::-1]):
            if (connection := self.connections.get(direction)) is not None:
                connection.number += 1
                connection.waiting.clear()

    def _lose(self, name: str, peer: str, life: int | None) -> None:
        if life is not None and self.lives.get(name) == life:
            if (connection := self.connections.get((name, peer))) is not None:
                connection.closing = False
            self.tell(name, self.disconnected(peer))

    def started(self, core: str) -> None:
        """A new life has none of the connections of the last one."""
        for pair, connection in self.connections.items():
            if pair[0] == core:
                connection.closing = connection.gone = False
            elif pair[1] == core and not connection.gone:
                # What was tried in vain while it was away does not break the connection that is made now.
                connection.number += 1

    def died(self, core: str, told: bool) -> None:
        """Its peers are told, unless they are cut off or nothing is left to tell them."""
        for peer in dict.fromkeys(name for pair in self.connections if core in pair for name in pair if name != core):
            pair = (peer, core)
            if told and not self.stops(pair) and not self.stops(pair[::-1]):
                self._break(pair)
            else:
                self._end(pair)
                self.connections.setdefault(pair, Connection()).gone = True

    def reset(self, one: str, other: str) -> None:
        for pair in list(self.connections):
            if {self.hosts[name] for name in pair} == {one, other} and pair[0] < pair[1]:
                self._break(pair)

    # What stops messages

    def stops(self, pair: Pair) -> bool:
        if not self.cuts and not self.islands:
            return False
        hosts = (self.hosts[pair[0]], self.hosts[pair[1]])
        found = self._stopped.get(hosts)
        if found is None:
            found = self._stopped[hosts] = self._stops(hosts)
        return found

    def _stops(self, hosts: Pair) -> bool:
        if hosts[0] == hosts[1]:
            return False
        if any((hosts[0] in island) is not (hosts[1] in island) for island in self.islands):
            return True
        both = ((hosts[0],), (hosts[1],), hosts[::-1])
        return (
            (hosts, True) in self.cuts or (hosts, False) in self.cuts or any((cut, False) in self.cuts for cut in both)
        )

    def disturb(self, fault: Fault) -> bool:
        """Whether it was one of what passes between hosts."""
        places = fault.places
        match fault.verb:
            case "cut":
                self.cut(places, fault.one_way)
            case "heal":
                self.heal(places, fault.one_way)
            case "isolate":
                self.isolate(places)
            case "rejoin":
                self.rejoin(places)
            case "slow":
                self.slow.add(frozenset(places))
            case "quicken":
                self.slow.discard(frozenset(places))
            case "reset":
                self.reset(*places)
            case _:
                return False
        return True

    def cut(self, hosts: tuple[str, ...], one_way: bool) -> None:
        """Between two hosts, or one host and all others."""
        self.cuts.add(_named(hosts, one_way))
        self._stopped.clear()

    def heal(self, hosts: tuple[str, ...], one_way: bool) -> None:
        self.cuts.discard(_named(hosts, one_way))
        self._flow_again()

    def isolate(self, hosts: tuple[str, ...]) -> None:
        self.islands.add(frozenset(hosts))
        self._stopped.clear()

    def rejoin(self, hosts: tuple[str, ...]) -> None:
        self.islands.discard(frozenset(hosts))
        self._flow_again()

    def _flow_again(self) -> None:
        self._stopped.clear()
        for pair, connection in list(self.connections.items()):
            if connection.waiting and not self.stops(pair):
                # At once, before anything that is still under way.
                waiting, connection.waiting = connection.waiting, []
                for message in waiting:
                    self.tell(pair[1], self.received(pair[0], message))


def _named(hosts: tuple[str, ...], one_way: bool) -> tuple[tuple[str, ...], bool]:
    """A cut both ways is the same whichever host is named first."""
    return (hosts if one_way else tuple(sorted(hosts))), one_way
