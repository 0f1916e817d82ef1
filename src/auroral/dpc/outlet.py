"""One output of a core: its stable buckets, who reads them, and what each reader must be sent (SOutput, D53-D56, D69)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage
from auroral.dpc.events import Effect, Kept, Report, Send, Truncate
from auroral.dpc.settings import Settings
from auroral.dpc.switching import Lane
from auroral.dpc.values import Ack, Confirm, Content, Gap, Ping, Stable, Subscribe, Tentative, Unsubscribe, Want

MOST_AT_ONCE = 64
"""Buckets in one message."""


@dataclass(slots=True)
class Reader:
    """A subscription, and the hashes of tentative buckets that the subscriber was sent and that are not stable yet."""

    number: int
    lane: Lane
    position: int
    gaps: bool
    sent: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Guess:
    """A tentative bucket that was given out."""

    content: Content
    coverage: Coverage
    closed: bool
    usually_at: float
    """When it would have come if nothing had held it up."""


@dataclass(slots=True)
class Outlet:
    stream: str
    readers_expected: tuple[str, ...]
    """All replicas of all who read it: nothing is forgotten that one of them still needs."""
    settings: Settings
    frontier: int = 0
    """The first bucket that is not stable."""
    newest: int = -1
    """The newest bucket that was given out in any version."""
    kept_from: int = 0
    kept: dict[int, Content] = field(default_factory=dict)
    usually_at: dict[int, float] = field(default_factory=dict)
    """When each of them came, or would have come if nothing had held it up."""
    guesses: dict[int, Guess] = field(default_factory=dict)
    """What is tentative, no older than the bound: who comes from another replica would otherwise wait for what is newer."""
    readers: dict[str, Reader] = field(default_factory=dict)
    needs: dict[str, int] = field(default_factory=dict)
    """Of those that may read it."""
    reserves: dict[str, float] = field(default_factory=dict)
    reserve: float = 0.0
    """The highest of them: the time that is needed from here to the last outputs."""

    # Readers

    def heard(self, sender: str, message: Subscribe | Unsubscribe | Want, now: float) -> Iterator[Effect]:
        match message:
            case Subscribe():
                yield from self.subscribe(sender, message, now)
            case Unsubscribe():
                self.unsubscribe(sender, message)
            case Want():
                yield from self.want(sender, message, now)

    def subscribe(self, sender: str, message: Subscribe, now: float) -> Iterator[Effect]:
        before = self.readers.get(sender)
        # Who takes another lane, or comes back, still holds what it was sent: a wrong guess only makes it ask.
        sent = dict(before.sent) if before and message.tentative else {}
        position = self._resumed(sender) if message.position is None else message.position
        self.readers[sender] = reader = Reader(message.number, message.lane, position, message.gaps, sent)
        if message.position is None:
            yield Send(sender, Stable(self.stream, reader.number, position, ()))
        yield from self._send_stable(sender, reader, now)
        for bucket, guess in self.guesses.items():
            known = bucket < reader.position or reader.sent.get(bucket) == guess.content.hash
            if not known and now - guess.usually_at < self.settings.bound:
                yield from self._send_guess(sender, reader, bucket, guess, now)

    def _resumed(self, sender: str) -> int:
        """Where a reader that lost everything begins: with what may be asked of it."""
        return max(self.kept_from, self.needs.get(sender, self.kept_from))

    def rewire(self, readers: tuple[str, ...]) -> None:
        """These may read it, and no others."""
        self.readers_expected = readers
        for known in (self.readers, self.needs, self.reserves):
            for gone in [reader for reader in known if reader not in readers]:
                del known[gone]
        self._find_reserve()

    def unsubscribe(self, sender: str, message: Unsubscribe) -> None:
        if sender in self.readers and self.readers[sender].number == message.number:
            del self.readers[sender]

    def want(self, sender: str, message: Want, now: float) -> Iterator[Effect]:
        """D54: it holds another version than the one that was confirmed."""
        reader = self.readers.get(sender)
        if reader is not None and reader.number == message.number:
            reader.position = min(reader.position, message.position)
            reader.sent.clear()
            yield from self._send_stable(sender, reader, now)

    def disconnected(self, peer: str) -> None:
        self.readers.pop(peer, None)

    def holds(self, sender: str, number: int) -> bool:
        return sender in self.readers and self.readers[sender].number == number

    def restore(self, kept: Kept) -> None:
        """What an earlier life had written down."""
        self.kept = dict(enumerate(kept.contents, kept.begin))
        self.usually_at = dict(enumerate(kept.usually_at, kept.begin))
        self.guesses.clear()
        self.kept_from, self.frontier = kept.begin, kept.begin + len(kept.contents)
        self.newest = self.frontier - 1

    def begin(self, bucket: int) -> Iterator[Effect]:
        """Earlier buckets cannot be had any more; what there is of them would leave a hole behind it."""
        newest = self.newest
        self.restore(Kept(bucket))
        # What was guessed is not new any more.
        self.newest = max(self.newest, newest)
        for reader in self.readers.values():
            reader.position = max(reader.position, bucket)
        yield Truncate(self.stream, bucket)

    # What is given out

    def give_tentative(
        self, bucket: int, content: Content, coverage: Coverage, now: float, closed: bool = True, held: float = 0.0
    ) -> Iterator[Effect]:
        assert bucket >= self.frontier, "a stable bucket is never made tentative"
        self.newest = max(self.newest, bucket)
        self.guesses[bucket] = guess = Guess(content, coverage, closed, now - held)
        for old in [b for b, one in self.guesses.items() if now - one.usually_at >= self.settings.bound]:
            del self.guesses[old]
        for address, reader in self.readers.items():
            yield from self._send_guess(address, reader, bucket, guess, now)

    def _send_guess(self, address: str, reader: Reader, bucket: int, guess: Guess, now: float) -> Iterator[Effect]:
        if reader.lane is not Lane.CORRECT:
            reader.sent[bucket] = guess.content.hash
            held = now - guess.usually_at
            yield Send(
                address,
                Tentative(self.stream, reader.number, bucket, guess.content, guess.closed, held, guess.coverage),
            )

    def give_stable(self, contents: Sequence[Content], now: float, held: Sequence[float] = ()) -> Iterator[Effect]:
        """The next buckets, final. `held`: how much later than usual each of them is."""
        for content, late in zip(contents, held or (0.0,) * len(contents), strict=True):
            bucket = self.frontier
            self.kept[bucket] = content
            self.guesses.pop(bucket, None)
            self.usually_at[bucket] = now - late
            self.frontier += 1
            if bucket > self.newest:
                self.newest = bucket
                for address, reader in self.readers.items():
                    if reader.lane is Lane.FRESH and not content.lost:
                        yield Send(
                            address, Stable(self.stream, reader.number, bucket, (content,), (late,) if late else ())
                        )
        for address, reader in self.readers.items():
            yield from self._send_stable(address, reader, now, new=True)
        yield from self._lose(len(self.kept) - self.settings.lost_beyond)

    def _age(self, bucket: int, now: float, new: bool) -> float:
        """A bucket is as old as it is, whoever missed it and why, or it would be late by what it took a reader to come here. But if it is
        sent again, or late beyond the bound, what other inputs give must have a chance to come with it. What an earlier life
        wrote down without saying when is as old as anything."""
        # A clock may have been set back between two lives.
        age = max(0.0, now - self.usually_at.get(bucket, float("-inf")))
        return age if new and age < self.settings.bound else min(age, self.settings.oldest)

    def _send_stable(self, address: str, reader: Reader, now: float, new: bool = False) -> Iterator[Effect]:
        """In order from the reader's position; only a confirmation where what it holds is final (D64)."""
        if reader.lane is Lane.FRESH:
            return
        if reader.position < self.kept_from:
            if not reader.gaps:
                yield Report("asked for what is not kept", self.stream)
                return
            yield Send(address, Gap(self.stream, reader.number, reader.position, self.kept_from))
            reader.position = self.kept_from
        # D34: who is ahead of this replica waits until it has come that far.
        while reader.position < self.frontier:
            begin, said_by = reader.position, self._said_by(reader)
            end = min(self.frontier, begin + MOST_AT_ONCE)
            while reader.position < end and self._said_by(reader) is said_by:
                reader.position += 1
            contents = tuple(self.kept[bucket] for bucket in range(begin, reader.position))
            ages = tuple(self._age(bucket, now, new) for bucket in range(begin, reader.position))
            for bucket in range(begin, reader.position):
                reader.sent.pop(bucket, None)
            if said_by is Gap:
                yield Send(address, Gap(self.stream, reader.number, begin, reader.position))
            elif said_by is Confirm:
                yield Send(address, Confirm(self.stream, reader.number, begin, tuple(c.hash for c in contents)))
            else:
                yield Send(address, Stable(self.stream, reader.number, begin, contents, ages if any(ages) else ()))

    def _said_by(self, reader: Reader) -> type[Stable | Confirm | Gap]:
        """The message that the next bucket of a reader goes in."""
        content = self.kept[reader.position]
        if content.lost:
            return Gap
        return Confirm if reader.sent.get(reader.position) == content.hash else Stable

    # What is kept

    def acknowledged(self, sender: str, message: Ack) -> None:
        if sender not in self.readers_expected:
            # It was one, and said so before it knew better.
            return
        # Messages of an earlier life of the reader may come late, but a need never goes back.
        self.needs[sender] = max(message.need, self.needs.get(sender, 0))
        if self.reserves.get(sender) != message.reserve:
            self.reserves[sender] = message.reserve
            self._find_reserve()

    def _find_reserve(self) -> None:
        """Asked for far more often than it changes."""
        self.reserve = max(self.reserves.values(), default=0.0)

    @property
    def ever_stable(self) -> int:
        """The first bucket that nobody is known to have stable: readers may have more from an earlier life or another replica."""
        return max([self.frontier, *self.needs.values(), *(reader.position for reader in self.readers.values())])

    @property
    def all_heard(self) -> bool:
        """Whether all who may read it have said what they need."""
        return len(self.needs) == len(self.readers_expected)

    @property
    def lowest_need(self) -> int:
        """The lowest bucket that any replica of any reader may still ask for."""
        if not self.all_heard:
            return self.kept_from
        return min(self.needs.values(), default=self.frontier)

    def forget(self) -> Iterator[Effect]:
        """What nobody needs any more."""
        return self._drop(min(self.lowest_need, self.frontier))

    def _lose(self, count: int) -> Iterator[Effect]:
        """D71: the oldest, though somebody may need them."""
        if count > 0:
            yield Report("lost from a full buffer", self.stream, count)
            yield from self._drop(self.kept_from + count)

    def _drop(self, below: int) -> Iterator[Effect]:
        if below > self.kept_from:
            for bucket in range(self.kept_from, below):
                del self.kept[bucket]
                self.usually_at.pop(bucket, None)
            self.kept_from = below
            yield Truncate(self.stream, below)

    @property
    def room(self) -> int:
        """D72: the first bucket that there is no room for."""
        return self.kept_from + self.settings.blocked_beyond


def acknowledged(outlets: Mapping[str, Outlet], sender: str, ping: Ping) -> dict[str, int]:
    """The heartbeat of a reader: what it needs is noted; which of its subscriptions do not hold here."""
    for stream, ack in ping.acks.items():
        if stream in outlets:
            outlets[stream].acknowledged(sender, ack)
    return {s: n for s, n in ping.numbers.items() if s in outlets and not outlets[s].holds(sender, n)}
