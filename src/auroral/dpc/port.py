"""One input of a core: which replicas it is read from, and the versions of its buckets that have come (SUnion, D16-D18, D48)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage, Level
from auroral.dpc.events import Effect, Report, Send
from auroral.dpc.judging import Judge
from auroral.dpc.monitor import UNREACHED, Monitor
from auroral.dpc.settings import Settings
from auroral.dpc.states import State
from auroral.dpc.switching import Choice, Feed, Lane, Offer, choose
from auroral.dpc.values import LOST, Confirm, Content, Gap, Stable, Subscribe, Tentative, Unsubscribe, Want

_PATIENT = 10
"""Times the silence after which an input has failed: where there is no bound, or a longer one, a reader waits for a replica that is as far
as it is itself for so long."""


@dataclass(frozen=True, slots=True)
class Held:
    """A tentative version of a bucket, and whose it is."""

    producer: str
    number: int
    content: Content
    closed: bool
    coverage: Coverage


@dataclass(slots=True)
class Port:
    stream: str
    producers: tuple[str, ...]
    settings: Settings
    sources: tuple[str, ...] = ()
    """What it is computed from in the end."""
    resuming: bool = False
    """Whether it is still to be told where to begin."""
    may_lose: bool = True
    """Whether it goes on behind a gap where nobody has the next bucket."""
    frontier: int = 0
    """The first bucket that is not stable."""
    furthest: int = 0
    """The first bucket that was never stable here, nor any behind it."""
    first: int = 0
    """The first bucket that was ever here."""
    forgotten: int = 0
    """Nothing before this bucket is held any more: what comes is never before the frontier."""
    stable: dict[int, Content] = field(default_factory=dict)
    lost: set[int] = field(default_factory=set)
    """Those of the stable buckets that are in a gap."""
    tentative: dict[int, Held] = field(default_factory=dict)
    origin: dict[int, float] = field(default_factory=dict)
    """When a bucket was first heard of, less what it had been held back before."""
    arrived: dict[int, float] = field(default_factory=dict)
    """When a bucket was first heard of here."""
    opened: set[int] = field(default_factory=set)
    """Buckets that were first heard of by a part of them, before their end."""
    curr: Feed | None = None
    bck: Feed | None = None
    numbers: dict[str, int] = field(default_factory=dict)
    """The subscription that each producer serves."""
    lanes: dict[str, Lane] = field(default_factory=dict)
    last_number: int = 0
    heard: float = 0.0
    """When a bucket was last closed."""
    opened_at: float = float("-inf")
    """When a part of a bucket last came."""
    to_go_over: tuple[float, int] | None = None
    """When it was first asked to read from others, and how far it was then."""
    resume_at: int | None = None
    """Where it would begin, if somebody has that."""
    asks_since: float | None = None
    """When it began to ask where to begin."""
    leaving_out: set[str] = field(default_factory=set)
    """Producers whose subscription leaves out what they do not keep."""
    served: dict[str, float] = field(default_factory=dict)
    """When each producer was last subscribed to, or sent something."""

    # What is read from whom

    def switch(self, offers: Mapping[str, Offer], now: float) -> Iterator[Effect]:
        """Read from the replicas that the table says."""
        if self.resuming and self.resume_at is not None and _has(offers, self.resume_at):
            self.start_at(self.resume_at)
        if self._as_ever(offers, now) or self._may_hear_of_more(offers, now):
            return
        stalled = {producer for producer in self.lanes if self._stalled(producer, offers[producer], now)}
        judge = Judge(self.settings, None if self.resuming else self.frontier, self.may_lose)
        lossy = judge.least_lossy(offers)
        offers = judge.judged(offers, stalled, lossy)
        found: Choice = choose(self.curr, self.bck, offers)
        self.curr, self.bck = found.curr, found.bck
        wanted = self._wanted()
        for producer in [p for p in self.lanes if p not in wanted]:
            yield Send(producer, Unsubscribe(self.stream, self.numbers.pop(producer)))
            del self.lanes[producer]
        for producer, lane in wanted.items():
            changed = self.lanes.get(producer) is not lane or (producer in lossy and producer not in self.leaving_out)
            if (changed and offers[producer].state is not State.FAILURE) or producer in stalled:
                yield self._subscribe(producer, lane, now, producer in lossy)

    def _as_ever(self, offers: Mapping[str, Offer], now: float) -> bool:
        """Row 1 of the table, nearly always: one replica is read, is stable and gives what is needed, so that no other matters."""
        if self.curr is None or self.bck is not None or len(self.lanes) != 1 or self.resuming:
            return False
        producer = self.curr.replica
        offer, ahead = offers[producer], offers[producer].frontier - self.frontier
        return (
            self.lanes.get(producer) is Lane.BOTH
            and offer.state is State.STABLE
            and offer.kept_from <= self.frontier
            and ahead * self.settings.bucket <= self.settings.long_replay
            and not self._stalled(producer, offer, now)
        )

    def _may_hear_of_more(self, offers: Mapping[str, Offer], now: float) -> bool:
        """Who is to be told where to begin is told by the one that has most: whoever has not answered yet may be that one."""
        if not self.resuming or self.lanes:
            return False
        if self.asks_since is None:
            self.asks_since = now
        return UNREACHED in offers.values() and now <= self.asks_since + self.settings.detection

    def _stalled(self, producer: str, offer: Offer, now: float) -> bool:
        """Whether it says that it is further, and nothing comes (D27)."""
        if self.lanes[producer] is Lane.FRESH or offer.frontier <= self.frontier:
            return False
        return now - self.served[producer] > self.settings.silence

    def _wanted(self) -> dict[str, Lane]:
        # Only one can say where to begin.
        both = (self.curr,) if self.resuming else (self.curr, self.bck)
        feeds = [feed for feed in both if feed is not None]
        # Who is read alone may have something new to give, be it held back since before all of its inputs fell silent.
        alone = len(feeds) == 1 and feeds[0].lane is Lane.CORRECT
        if alone or len({feed.replica for feed in feeds}) < len(feeds):
            return {feeds[0].replica: Lane.BOTH}
        return {feed.replica: feed.lane for feed in feeds}

    def _subscribe(self, producer: str, lane: Lane, now: float, gaps: bool) -> Send:
        self.last_number += 1
        self.leaving_out = self.leaving_out | {producer} if gaps else self.leaving_out - {producer}
        self.served[producer] = now
        self.numbers[producer], self.lanes[producer] = self.last_number, lane
        tentative = any(bucket >= self.frontier for bucket in self.tentative)
        position = None if self.resuming else self.frontier
        return Send(producer, Subscribe(self.stream, self.last_number, lane, position, tentative, gaps))

    def can_go_over(self, producers: tuple[str, ...], need: int, monitor: Monitor, now: float) -> bool:
        """Whether nobody is left, or one of these has all from `need` on, which is what would have to be read again after a crash (what a
        replica keeps on its disk goes with it), is about as far, and is in no worse a state than those that are left: what a new one
        lacks, it may lack for ever."""
        left = [monitor.offer(producer, self.stream) for producer in self.producers if producer not in producers]
        if not left:
            return True
        best = min((one.state for one in left if one != UNREACHED), default=State.FAILURE)
        offers = [monitor.offer(producer, self.stream) for producer in producers]
        return any(one != UNREACHED and one.state <= best and self._goes_on_with(one, need, now) for one in offers)

    def _goes_on_with(self, offer: Offer, need: int, now: float) -> bool:
        if self.resuming:
            return True
        if self.to_go_over is None:
            self.to_go_over = (now, self.frontier)
        asked, frontier = self.to_go_over
        behind = (self.frontier - offer.frontier) * self.settings.bucket
        # Where replicas have too much to do, and take many buckets at once, none may ever be as far as another is just now.
        patient = min(self.settings.bound, _PATIENT * self.settings.silence)
        caught_up = now - asked > patient and offer.frontier >= frontier
        return offer.kept_from <= min(need, self.frontier) and (behind <= self.settings.silence or caught_up)

    def rewire(self, producers: tuple[str, ...]) -> Iterator[Effect]:
        """These can be read from, and no others."""
        for gone in [producer for producer in self.lanes if producer not in producers]:
            yield Send(gone, Unsubscribe(self.stream, self.numbers[gone]))
            self.disconnected(gone)
        self.producers, self.to_go_over = producers, None
        self.curr, self.bck = (f if f is not None and f.replica in producers else None for f in (self.curr, self.bck))

    def disconnected(self, producer: str) -> None:
        """The connection broke: what the producer sends from now on would lack what was lost."""
        self.numbers.pop(producer, None)
        self.lanes.pop(producer, None)

    def renew(self, producer: str, number: int, now: float) -> Iterator[Effect]:
        """The producer does not know of this subscription."""
        if self.serves(producer, number):
            yield self._subscribe(producer, self.lanes[producer], now, producer in self.leaving_out)

    # What comes

    def serves(self, producer: str, number: int) -> bool:
        """Whether the message belongs to a subscription that still holds."""
        return self.numbers.get(producer) == number

    def receive(self, producer: str, message: Stable | Tentative | Confirm | Gap, now: float) -> Iterator[Effect]:
        if not self.serves(producer, message.number):
            yield Report("of an earlier subscription", self.stream)
            return
        self.served[producer] = now
        match message:
            case Stable():
                yield from self.take_stable(message, now)
            case Tentative():
                yield from self.take_tentative(producer, message, now)
            case Confirm():
                yield from self.take_confirm(producer, message, now)
            case Gap():
                yield from self.take_gap(message, now)

    def start_at(self, bucket: int) -> None:
        """Nothing before this bucket is asked for."""
        self.resuming, self.resume_at, self.asks_since = False, None, None
        self.first = self.frontier = bucket
        self.forgotten = 0

    def resume(self) -> None:
        """From nothing, where it will be told to begin."""
        for held in (self.stable, self.lost, self.tentative, self.origin, self.arrived, self.numbers, self.lanes):
            held.clear()
        self.opened.clear()
        self.resuming, self.first, self.frontier, self.furthest = True, 0, 0, 0

    def take_stable(self, message: Stable, now: float) -> Iterator[Effect]:
        if self.resuming:
            self.start_at(message.begin)
        helds = message.held or (0.0,) * len(message.contents)
        for bucket, (content, held) in enumerate(zip(message.contents, helds, strict=True), message.begin):
            if bucket < self.frontier or bucket in self.stable:
                yield self._again(bucket, content)
                continue
            self.stable[bucket] = content
            self.furthest = max(self.furthest, bucket + 1)
            self.tentative.pop(bucket, None)
            self._hear(bucket, now, held)
        self.heard = now
        self._advance()

    def _again(self, bucket: int, content: Content) -> Report:
        known = self.stable.get(bucket)
        if known is not None and known != content and not known.lost:
            return Report("diverged", self.stream, detail=f"bucket {bucket} came twice, and differs")
        return Report("stable again", self.stream)

    def take_tentative(self, producer: str, message: Tentative, now: float) -> Iterator[Effect]:
        bucket = message.bucket
        if self.resuming:
            return
        if bucket < self.frontier or bucket in self.stable:
            yield Report("tentative after stable", self.stream)
            return
        if not message.closed and bucket not in self.origin:
            self.opened.add(bucket)
        self._hear(bucket, now, message.held)
        if message.closed:
            self.heard = now
        else:
            self.opened_at = now
        self.tentative[bucket] = Held(producer, message.number, message.content, message.closed, message.coverage)
        if self.settings.most_kept is not None and len(self.tentative) > self.settings.most_kept:
            # Who confirms it is asked for it (D54).
            del self.tentative[min(self.tentative)]

    def take_confirm(self, producer: str, message: Confirm, now: float) -> Iterator[Effect]:
        """D64: nothing is sent again where nothing changed; who holds another version asks for the bucket."""
        for bucket, expected in enumerate(message.hashes, message.begin):
            if bucket < self.frontier or bucket in self.stable:
                yield Report("stable again", self.stream)
                continue
            held = self.tentative.get(bucket)
            if held is None or held.content.hash != expected:
                yield Send(producer, Want(self.stream, message.number, bucket))
                break
            self.stable[bucket] = held.content
            self.furthest = max(self.furthest, bucket + 1)
            del self.tentative[bucket]
        self.heard = now
        self._advance()

    def take_gap(self, message: Gap, now: float) -> Iterator[Effect]:
        lost = [b for b in range(max(message.begin, self.frontier), message.end) if b not in self.stable]
        if lost:
            yield Report("gap", self.stream, len(lost))
        for bucket in lost:
            self.stable[bucket] = LOST
            self.lost.add(bucket)
            self.tentative.pop(bucket, None)
        self.heard = now
        self._advance()

    def skip(self, below: int) -> None:
        """What nobody reads any more is not waited for."""
        self.frontier = max(self.frontier, below)
        self._advance()

    def _hear(self, bucket: int, now: float, held: float) -> None:
        """A bucket that is heard of passes those before it: their time runs too."""
        origin = now - held
        for passed in range(bucket, max(self.frontier, bucket - 8) - 1, -1):
            self.arrived.setdefault(passed, now)
            if passed in self.origin and self.origin[passed] <= origin:
                break
            self.origin[passed] = origin

    def _advance(self) -> None:
        while self.frontier in self.stable:
            self.frontier += 1

    # What is there

    def best(self, bucket: int) -> Content | None:
        """Stable wins; otherwise what came last. What is lost is not there."""
        if bucket in self.lost:
            return None
        content = self.stable.get(bucket)
        if content is None and (held := self.tentative.get(bucket)) is not None:
            content = held.content
        return content

    def coverage(self, bucket: int) -> Coverage:
        if bucket in self.lost:
            return Coverage.of(self.sources, bucket, Level.MISSING)
        if bucket in self.stable or bucket < self.frontier:
            return Coverage.of(self.sources, bucket, Level.COMPLETE)
        if (held := self.tentative.get(bucket)) is not None:
            return held.coverage
        return Coverage.of(self.sources, bucket, Level.MISSING)

    def closed(self, bucket: int) -> bool:
        return bucket in self.stable or (bucket in self.tentative and self.tentative[bucket].closed)

    def failed(self, monitor: Monitor, now: float) -> bool:
        """Whether stable buckets have stopped coming: silence, or no replica that is stable (D27)."""
        return now - self.heard > self.settings.silence or self.state(monitor) is not State.STABLE

    def cut_off(self, monitor: Monitor, now: float) -> bool:
        """Whether nothing is to be expected of it for now, not even tentative buckets."""
        state = self.state(monitor)
        last = max(self.heard, self.opened_at)
        return state is State.FAILURE or (state is State.STABLE and now - last > self.settings.silence)

    def passed(self, bucket: int) -> bool:
        """Whether it has gone on to later buckets, be it without closing this one."""
        return any(later > bucket for later in self.tentative)

    def state(self, monitor: Monitor) -> State:
        """Of the replica that is read from."""
        curr = self.curr
        return State.FAILURE if curr is None else monitor.offer(curr.replica, self.stream).state

    def reaches_back(self, horizon: int) -> int:
        """The first bucket that can be computed from what ever came here."""
        return self.first + horizon - 1 if self.first else 0

    def forget(self, below: int) -> None:
        below = min(below, self.frontier)
        if below <= self.forgotten:
            return
        self.forgotten = below
        for kept in (self.stable, self.tentative, self.origin, self.arrived):
            for bucket in [b for b in kept if b < below]:
                del kept[bucket]
        for known in (self.opened, self.lost):
            known -= {bucket for bucket in known if bucket < below}


def _has(offers: Mapping[str, Offer], bucket: int) -> bool:
    return any(offer != UNREACHED and offer.kept_from <= bucket for offer in offers.values())


def cut_off_of(ports: Iterable[Port], monitor: Monitor, now: float) -> list[str]:
    """The streams of which nothing comes, not even tentative buckets."""
    return sorted(port.stream for port in ports if port.cut_off(monitor, now))


def lanes_of(ports: Iterable[Port]) -> dict[str, dict[str, str]]:
    """By stream, from whom it is read, and in which lanes."""
    return {port.stream: {producer: str(lane) for producer, lane in port.lanes.items()} for port in ports}
