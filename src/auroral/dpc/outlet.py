"""One output of a core: its stable buckets, who reads them, and what each reader must be sent (SOutput, D53-D56, D69)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from auroral.dpc.coverage import Coverage
from auroral.dpc.events import Effect, Report, Send
from auroral.dpc.switching import Lane
from auroral.dpc.values import Ack, Confirm, Content, Stable, Subscribe, Tentative, Unsubscribe, Want

MOST_AT_ONCE = 64
"""Buckets in one message."""


@dataclass(slots=True)
class Reader:
    """A subscription, and the hashes of tentative buckets that the subscriber was sent and that are not stable yet."""

    number: int
    lane: Lane
    position: int
    sent: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Outlet:
    stream: str
    readers_expected: tuple[str, ...]
    """All replicas of all who read it: nothing is forgotten that one of them still needs."""
    oldest: float = 0.0
    """How old a bucket that is sent again counts as at most, in seconds."""
    frontier: int = 0
    """The first bucket that is not stable."""
    newest: int = -1
    """The newest bucket that was given out in any version."""
    kept_from: int = 0
    kept: dict[int, Content] = field(default_factory=dict)
    usual_at: dict[int, float] = field(default_factory=dict)
    """When each kept bucket would have been given out, had nothing held it back."""
    readers: dict[str, Reader] = field(default_factory=dict)
    needs: dict[str, int] = field(default_factory=dict)
    reserves: dict[str, float] = field(default_factory=dict)

    # Readers

    def subscribe(self, sender: str, message: Subscribe, now: float = 0.0) -> Iterator[Effect]:
        before = self.readers.get(sender)
        # Who takes another lane, or comes back, still holds what it was sent: a wrong guess only makes it ask.
        sent = dict(before.sent) if before and message.tentative else {}
        position = self._resumed(sender) if message.position is None else message.position
        self.readers[sender] = reader = Reader(message.number, message.lane, position, sent)
        if message.position is None:
            yield Send(sender, Stable(self.stream, reader.number, position, ()))
        yield from self._send_stable(sender, reader, now)

    def _resumed(self, sender: str) -> int:
        """Where a reader that lost everything begins: with what may be asked of it."""
        return max(self.kept_from, self.needs.get(sender, self.kept_from))

    def unsubscribe(self, sender: str, message: Unsubscribe) -> None:
        if sender in self.readers and self.readers[sender].number == message.number:
            del self.readers[sender]

    def want(self, sender: str, message: Want, now: float = 0.0) -> Iterator[Effect]:
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

    def begin(self, bucket: int) -> None:
        """Earlier buckets are nobody's need any more."""
        assert not self.kept
        self.frontier = self.kept_from = bucket
        self.newest = bucket - 1

    # What is given out

    def give_tentative(
        self, bucket: int, content: Content, coverage: Coverage, closed: bool = True, held: float = 0.0
    ) -> Iterator[Effect]:
        assert bucket >= self.frontier, "a stable bucket is never made tentative"
        self.newest = max(self.newest, bucket)
        for address, reader in self.readers.items():
            if reader.lane is not Lane.CORRECT:
                reader.sent[bucket] = content.hash
                yield Send(address, Tentative(self.stream, reader.number, bucket, content, closed, held, coverage))

    def give_stable(self, contents: Sequence[Content], held: float = 0.0, now: float = 0.0) -> Iterator[Effect]:
        """The next buckets, final. `held`: how much later than usual the last of them is."""
        for content in contents:
            bucket = self.frontier
            self.kept[bucket], self.usual_at[bucket] = content, now - held
            self.frontier += 1
            if bucket > self.newest:
                self.newest = bucket
                for address, reader in self.readers.items():
                    if reader.lane is Lane.FRESH:
                        yield Send(address, Stable(self.stream, reader.number, bucket, (content,), held))
        for address, reader in self.readers.items():
            yield from self._send_stable(address, reader, now, held)

    def _held(self, bucket: int, now: float) -> float:
        """Of a bucket that is sent again: it is as old as it is, whoever missed it and why, or it would be late by what it took a reader
        to come here. But what other inputs send again must have a chance to come with it."""
        return min(now - self.usual_at[bucket], self.oldest)

    def _send_stable(self, address: str, reader: Reader, now: float, held: float | None = None) -> Iterator[Effect]:
        """In order from the reader's position; only a confirmation where what it holds is final (D64)."""
        if reader.lane is Lane.FRESH:
            return
        if reader.position < self.kept_from:
            yield Report("asked for what is not kept", self.stream)
            return
        # D34: who is ahead of this replica waits until it has come that far.
        while reader.position < self.frontier:
            begin = reader.position
            confirmed: list[int] = []
            while reader.position < self.frontier and len(confirmed) < MOST_AT_ONCE:
                hash = self.kept[reader.position].hash
                if reader.sent.pop(reader.position, None) != hash:
                    break
                confirmed.append(hash)
                reader.position += 1
            if confirmed:
                yield Send(address, Confirm(self.stream, reader.number, begin, tuple(confirmed)))
                continue
            contents: list[Content] = []
            took = self._held(begin, now) if held is None else held
            while reader.position < self.frontier and len(contents) < MOST_AT_ONCE:
                content = self.kept[reader.position]
                if contents and reader.sent.get(reader.position) == content.hash:
                    break
                # One message says one age.
                if contents and held is None and self._held(reader.position, now) != took:
                    break
                reader.sent.pop(reader.position, None)
                contents.append(content)
                reader.position += 1
            yield Send(address, Stable(self.stream, reader.number, begin, tuple(contents), took))

    # What is kept

    def acknowledged(self, sender: str, message: Ack) -> None:
        # Messages of an earlier life of the reader may come late, but a need never goes back.
        self.needs[sender] = max(message.need, self.needs.get(sender, 0))
        self.reserves[sender] = message.reserve

    @property
    def reserve(self) -> float:
        """The time that is needed from here to the last outputs."""
        return max(self.reserves.values(), default=0.0)

    @property
    def lowest_need(self) -> int:
        """The lowest bucket that any replica of any reader may still ask for."""
        if any(reader not in self.needs for reader in self.readers_expected):
            return self.kept_from
        return min((self.needs[reader] for reader in self.readers_expected), default=self.frontier)

    def forget(self, below: int) -> bool:
        """Whether there was anything to forget."""
        gone = range(self.kept_from, min(below, self.frontier))
        for bucket in gone:
            del self.kept[bucket], self.usual_at[bucket]
        self.kept_from += len(gone)
        return bool(gone)
