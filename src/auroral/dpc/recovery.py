"""How a replica that lost what it had in memory comes back: mute until it is right (D65-D68).

Its inputs begin where those that give them still have what it needs; its outputs go on behind what is on disk, or begin with the first
bucket that its inputs reach. A fold begins with a snapshot from its disk or, if there is none that its inputs reach, from another
replica (D67). What is known of where an input begins does not wait for it; without, an output begins by the inputs that are there, and
again once the others are back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.events import DropStates, Effect, Report, SaveState, Send
from auroral.dpc.monitor import UNREACHED, Monitor
from auroral.dpc.port import Port
from auroral.dpc.settings import Settings
from auroral.dpc.sunion import SUnion
from auroral.dpc.values import Snapshot, WantState

RECONNECTED = 1.0
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Of an output: its frontier after its last job, and how far its inputs' replicas were when that job could begin at the latest, and
    when it ended."""

    frontier: int
    begun_with: int
    ended_with: int


@dataclass(slots=True)
class Recovery:
    ports: Mapping[str, Port]
    unions: Mapping[str, SUnion]
    monitor: Monitor
    settings: Settings
    peers: tuple[str, ...]
    born: float = 0.0
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    """Of folds: what their states may begin with."""
    received: set[str] = field(default_factory=set)
    """Those of them that came from other replicas."""
    asked_at: float = float("-inf")
    paces: dict[str, Pace] = field(default_factory=dict)
    on_disk: set[str] = field(default_factory=set)
    """Outputs that go on behind what an earlier life wrote down."""
    provisional: dict[str, frozenset[str]] = field(default_factory=dict)
    """Outputs that began though inputs are still to be told where to begin, and which those are."""
    done: bool = False

    def go_on(self, kept: Collection[str]) -> None:
        """Of inputs of which all outputs are on disk it is known where to begin, if somebody has that."""
        self.on_disk = {stream for stream, union in self.unions.items() if stream in kept and union.fold is None}
        for name, port in self.ports.items():
            using = self._read_by(port)
            if port.resuming and using and self.on_disk.issuperset(using):
                port.resume_at = min(union.reads_from(name, union.outlet.frontier) for union in using.values())

    def step(self, now: float) -> Iterator[Effect]:
        for port in self.ports.values():
            if port.resuming and self._nobody_to_ask(port, now):
                if self.provisional.keys().isdisjoint(self._made_from(port)):
                    self._begin_without(port)
            elif not port.resuming and self._nobody_has_the_next(port):
                # What it was told of is gone by now.
                port.resume()
                for union in self.unions.values():
                    union.begun = union.begun and port.stream not in union.ports
        for stream, union in self.unions.items():
            resuming = self._resuming(union)
            if not self.provisional.get(stream, frozenset()) <= resuming:
                # One of them knows by now, whatever the others do.
                del self.provisional[stream]
                union.begun = False
            # Whatever another output still waits for.
            if not union.begun and all(self._nobody_to_ask(self.ports[name], now) for name in resuming):
                yield from self._begin(stream, now)
        self._skip()
        if self._waited(now) or self._all_heard:
            # One that cannot begin, as nothing of it comes, does not keep the others mute.
            speak = {stream for stream in self.unions if self._caught_up(stream)}
            self.done = bool(speak) and speak | self._cut_off(now) == self.unions.keys()
            if self.done:
                self._count_silence(now)

    def _count_silence(self, now: float) -> None:
        """An input that is behind another one of an output has been silent for about as long, whoever waited for it meanwhile. One that
        only just came back would else say that it is stable, and be read instead of one that is about to answer without that input."""
        for union in self.unions.values():
            frontiers = {name: self.monitor.furthest(name) for name in union.ports}
            furthest = max(frontiers.values())
            for name, port in union.ports.items():
                port.heard = min(port.heard, now - (furthest - frontiers[name]) * self.settings.bucket)

    def _cut_off(self, now: float) -> set[str]:
        """Outputs of which no input says where to begin."""
        away = {name for name, port in self.ports.items() if port.resuming and self._nobody_to_ask(port, now)}
        return {s for s, union in self.unions.items() if away.issuperset(n for n in union.ports if union.is_read(n))}

    @property
    def unfinished(self) -> bool:
        """Whether some output is to begin, or to begin once more."""
        return bool(self.provisional) or not all(union.begun for union in self.unions.values())

    def _skip(self) -> None:
        """An input may have been told to begin before all that is made from it: what lies between may be gone, and is not needed."""
        for name, port in self.ports.items():
            using = self._made_from(port).values()
            if using and not port.resuming and all(union.begun for union in using):
                port.skip(min(union.reads_from(name, union.outlet.frontier) for union in using))

    # Where to begin

    def _begin(self, stream: str, now: float) -> Iterator[Effect]:
        union = self.unions[stream]
        told = {name: port for name, port in union.ports.items() if not port.resuming and union.is_read(name)}
        if union.fold is None:
            # What it needed is known to those that are there as well as to those that are not.
            starts = [union.computed_from(port) for port in told.values()]
            first = max(starts, default=self._known_start(stream))
            if first is None:
                return
            if union.outlet.frontier < first:
                yield from union.outlet.begin(first)
            self._begun(stream)
        elif (snapshot := self._snapshot(stream)) is not None and all(
            port.first <= union.reads_from(name, snapshot.bucket) for name, port in told.items()
        ):
            union.fold.begin(snapshot)
            if stream in self.received:
                # If all others lose theirs, this must be found again.
                yield SaveState(stream, snapshot)
                yield DropStates(stream, snapshot.bucket)
            yield from union.outlet.begin(snapshot.bucket)
            self._begun(stream)
        elif now >= self.asked_at + self.settings.detection:
            self.asked_at = now
            yield from (Send(peer, WantState(stream)) for peer in self.peers)
            if not self.peers or (self._waited(now) and not any(peer in self.monitor.offers for peer in self.peers)):
                yield Report(
                    "state lost", stream, detail=f"nobody who answers has a state of {stream} that its inputs reach"
                )

    def _begun(self, stream: str) -> None:
        union = self.unions[stream]
        union.begun = True
        # What it reads no more is not waited for.
        if resuming := {name for name in self._resuming(union) if union.is_read(name, union.outlet.frontier)}:
            self.provisional[stream] = frozenset(resuming)

    def _resuming(self, union: SUnion) -> frozenset[str]:
        return frozenset(name for name, port in union.ports.items() if port.resuming)

    def _snapshot(self, stream: str) -> Snapshot | None:
        """What a fold may begin with; nothing only where its inputs say that they begin with the first bucket."""
        resuming = any(port.resuming for port in self.unions[stream].ports.values())
        return self.snapshots.get(stream, None if resuming else Snapshot(0, None))

    def given(self, stream: str, snapshot: Snapshot) -> None:
        """By another replica, whose inputs are kept from there on."""
        if self.done or self.unions[stream].begun:
            return
        self.snapshots[stream] = snapshot
        self.received.add(stream)
        union = self.unions[stream]
        for name, port in union.ports.items():
            if (position := union.reads_from(name, snapshot.bucket)) < port.first or port.resuming:
                port.resume()
                port.start_at(position)

    # Inputs

    def _nobody_has_the_next(self, port: Port) -> bool:
        offers = self.monitor.of(port.stream, port.producers).values()
        reached = [offer for offer in offers if offer != UNREACHED]
        return bool(reached) and all(offer.kept_from > port.frontier for offer in reached)

    def _nobody_to_ask(self, port: Port, now: float) -> bool:
        asked = any(producer in self.monitor.offers for producer in port.producers)
        return self._waited(now) and not asked

    def _waited(self, now: float) -> bool:
        """Whether whoever has not answered by now is away. Connections that broke take a while to be there again."""
        return now > self.born + max(self.settings.detection, RECONNECTED)

    @property
    def _all_heard(self) -> bool:
        """One that has not answered yet may be further than the others."""
        return all(producer in self.monitor.heard for port in self.ports.values() for producer in port.producers)

    def _begin_without(self, port: Port) -> None:
        """An input that nobody gives would keep it mute for as long as that lasts: begin with what all that is made from it needs, if
        that is known. What only earlier versions read is still to begin with what is kept of it."""
        using = self._read_by(port)
        starts = {stream: start for stream in using if (start := self._known_start(stream)) is not None}
        needed = [
            using[stream].reads_from(port.stream, start)
            for stream, start in starts.items()
            if using[stream].is_read(port.stream, start)
        ]
        if needed and starts.keys() == using.keys():
            port.start_at(min(needed))

    def _made_from(self, port: Port) -> dict[str, SUnion]:
        return {stream: union for stream, union in self.unions.items() if port.stream in union.ports}

    def _read_by(self, port: Port) -> dict[str, SUnion]:
        """Of those, what is computed from it by a version that is decided or promised. Before that it begins with what is kept of it: nobody
        has needed it here."""
        return {stream: union for stream, union in self._made_from(port).items() if union.is_read(port.stream)}

    def _known_start(self, stream: str) -> int | None:
        """Where an output goes on: behind what is on its disk, or with what readers may ask for, if all of them have said so. Those that
        give its inputs keep what it takes: it told them so."""
        union = self.unions[stream]
        if union.fold is not None:
            return self.snapshots[stream].bucket if stream in self.snapshots else None
        if union.outlet.all_heard:
            return max(union.outlet.frontier, union.outlet.lowest_need)
        return union.outlet.frontier if stream in self.on_disk else None

    def _caught_up(self, stream: str) -> bool:
        """Whether all is final that the inputs' replicas had final when its last job began. What they have by now is too much to ask
        for, where a job is longer than a bucket, or other outputs have theirs in between; and so is what lies behind a promise, or has no
        room until readers have had what is before it."""
        union, pace = self.unions[stream], self.paces.get(stream)
        if not union.begun:
            self.paces.pop(stream, None)
            return False
        frontier = union.outlet.frontier
        furthest = min(self.monitor.furthest(name) for name in union.read(union.outlet.frontier))
        if pace is None:
            pace = Pace(frontier, furthest, furthest)
        elif frontier > pace.frontier:
            pace = Pace(frontier, pace.ended_with, furthest)
        self.paces[stream] = pace
        return frontier >= min(pace.begun_with - 1, union.versions.plan.limit, union.outlet.room)
