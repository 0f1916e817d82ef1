"""One connection to a peer, as the event loop sees it: who talks to whom over it, on which channels."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from auroral.wire.codec import Encoded
from auroral.wire.counters import Counters
from auroral.wire.delays import DelayLine
from auroral.wire.errors import WireError, reason_of
from auroral.wire.hello import Hello
from auroral.wire.incoming import Came
from auroral.wire.lanes import Way
from auroral.wire.limits import MOST_CHANNELS, MOST_CORES, MOST_PARTED
from auroral.wire.outgoing import Outgoing
from auroral.wire.things import Cores, Open, Parted, Shut, Taken

Pair = tuple[str, str]
"""A core here, and one there."""


class Pipe(Protocol):
    """What carries the things of a link: it takes them from `link.outgoing`, and hands what comes to the switchboard."""

    def close(self) -> None:
        """At once, without waiting. The other side sees it too."""

    def beat(self) -> None:
        """Time to say that nothing is to be said, where the pipe does not do so by itself."""


@dataclass(slots=True)
class Link:
    peer: str
    their: Hello
    loop: asyncio.AbstractEventLoop
    counters: Counters
    outgoing: Outgoing
    broken: Callable[[str], None] = field(init=False)
    """Called, with the reason, where it must break."""
    pipe: Pipe | None = None
    out_line: DelayLine = field(init=False)
    in_line: DelayLine = field(init=False)
    since: float = field(init=False)
    heard: float = field(init=False)
    deaf: bool = False
    """What comes is not heard: the link is cut."""
    cores: dict[str, int] = field(default_factory=dict)
    """Those that live there, by their lives."""
    introduced: bool = False
    """Whether all of them are known."""
    talked: dict[Pair, None] = field(default_factory=dict)
    channels: dict[tuple[str, str, Way, str], int] = field(default_factory=dict)
    streams: dict[int, tuple[str, str, str]] = field(default_factory=dict)
    """By channel of a correct lane: sender, to, stream."""
    last_channel: int = 0
    unheard: dict[Pair, int | None] = field(default_factory=dict)
    """By a core there and one here: up to which channel nothing that the first says is taken; none for all, until it has been told."""

    def __post_init__(self) -> None:
        self.out_line, self.in_line = DelayLine(self.loop), DelayLine(self.loop)
        self.since = self.heard = self.loop.time()

    # What goes

    def say(self, thing: Cores | Open | Shut | Taken | Parted) -> None:
        self.out_line.put(partial(self._put, partial(self.outgoing.say, thing.to_bytes())))

    def send(self, sender: str, life: int, to: str, way: Way, stream: str, messages: tuple[Encoded, ...]) -> None:
        self.talked[sender, to] = None
        key = (sender, to, way, stream)
        channel = self.channels.get(key)
        if channel is None:
            channel = self._open(key, life)
        for message in messages:
            self.counters.sends(way, message.size)
        if way is Way.CONTROL:
            for message in messages:
                self.out_line.put(partial(self._put, partial(self.outgoing.tell, channel, message)))
        else:
            self.out_line.put(partial(self._give, channel, stream, messages))

    def _open(self, key: tuple[str, str, Way, str], life: int) -> int:
        sender, to, way, stream = key
        self.last_channel += 1
        channel = self.channels[key] = self.last_channel
        if len(self.channels) > MOST_CHANNELS:
            self.broken(f"more than {MOST_CHANNELS} channels")
        if way is Way.CORRECT:
            self.streams[channel] = (sender, to, stream)
        self.say(Open(channel, sender, life, to, self.cores[to], way, stream))
        if way is not Way.CONTROL:
            self.out_line.put(partial(self.outgoing.open, channel, way, (sender, to, stream)))
        return channel

    def _put(self, put: Callable[[], str | None]) -> None:
        try:
            reason = put()
        except Exception as error:  # noqa: BLE001  a message that is lost breaks the connection, whatever the reason
            # What is said behind it must not go instead.
            self.outgoing.close()
            reason = reason_of(error)
        if reason is not None:
            self.broken(reason)

    def _give(self, channel: int, stream: str, messages: tuple[Encoded, ...]) -> None:
        if channel not in self.outgoing.lanes:
            return
        dropped, reason = self.outgoing.give(channel, *messages)
        if dropped:
            self.counters.dropped[stream] += dropped
        if reason is not None:
            self.broken(reason)

    def forget(self, *, sender: str | None = None, to: str | None = None) -> None:
        """A core here or there ended, or the two are parted: what waits on its channels is not sent."""

        def over(pair: tuple[str, ...]) -> bool:
            return sender in (None, pair[0]) and to in (None, pair[1])

        for key, channel in list(self.channels.items()):
            if over(key[:2]):
                del self.channels[key]
                self.streams.pop(channel, None)
                self.out_line.put(partial(self.outgoing.shut, channel))
                self.say(Shut(channel))
        self.talked = {pair: None for pair in self.talked if not over(pair)}

    # What comes

    def introduce(self, said: Cores) -> list[str]:
        """Gives the cores that ended, or began another life."""
        ended = []
        for core, life in said.lives:
            known = self.cores.get(core)
            if known is not None and known != life:
                ended.append(core)
                del self.cores[core]
            if life is not None:
                self.cores[core] = life
        if len(self.cores) > MOST_CORES:
            raise WireError(f"{len(self.cores)} cores are said to live there", self.peer, f"at most {MOST_CORES}")
        self.introduced = self.introduced or not said.more
        return ended

    def unhear(self, sender: str, to: str) -> None:
        """The sender lives elsewhere, as far as is known here: what it says is not taken, and it hears of a break."""
        if self.unheard.get((sender, to), 0) is not None:
            self._unhear((sender, to), None)
            self.forget(sender=to, to=sender)
            self.say(Parted(sender, to, self.last_channel))

    def parted(self, said: Parted, living: bool) -> None:
        """From later channels than this one on, what comes is of after the break. `living`: whether both cores are, each on its side. Where
        one is not, all that was said between the two is of a life that is over, and is not taken by that."""
        pair = (said.sender, said.to) if said.answer else (said.to, said.sender)
        waits = pair in self.unheard and self.unheard[pair] is None
        if waits != said.answer:
            return
        if living:
            self._unhear(pair, said.channel)
        else:
            self.unheard.pop(pair, None)

    def over(self, core: str) -> None:
        """A life of a core ended, here or there. Pairs whose answer is awaited stay until it comes: it must not be taken for a later one."""
        self.unheard = {pair: channel for pair, channel in self.unheard.items() if channel is None or core not in pair}

    def _unhear(self, pair: Pair, channel: int | None) -> None:
        self.unheard[pair] = channel
        if len(self.unheard) > MOST_PARTED:
            self.broken(f"more than {MOST_PARTED} pairs of cores are parted")

    def hears(self, channel: Open) -> bool:
        up_to = self.unheard.get((channel.sender, channel.to), 0)
        return up_to is not None and channel.channel > up_to

    def taken(self, came: Came) -> None:
        if came.channel.way is not Way.CONTROL:
            self.say(Taken(came.channel.channel, came.size))

    def backlog(self, sender: str) -> dict[tuple[str, str], int]:
        waiting = self.outgoing.backlog()
        return {
            (to, stream): waiting[channel]
            for channel, (whose, to, stream) in self.streams.items()
            if whose == sender and waiting.get(channel)
        }

    def close(self) -> None:
        self.out_line.clear()
        self.in_line.clear()
        self.outgoing.close()
        if self.pipe is not None:
            self.pipe.close()
