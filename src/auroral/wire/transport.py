"""How a host talks to cores on other nodes: the contract of a connection that the protocol was proved with (`sim.network`).

- Between two cores, messages of one way (control, the fresh and the correct lane of a stream; `lanes` says which overtake which) arrive in
  the order in which they were sent, or the connection between their nodes breaks, and all cores on both sides that talked over it hear
  `Disconnected`. What was sent meanwhile is lost. Only tentative frames may be lost without that: the oldest, where a reader is too slow,
  and they are counted. Of two cores whose nodes do not agree on where one of them lives, the same holds by themselves.
- Stable buckets that are sent as one message may come as several, with consecutive begins, that together mean the same.
- A message never reaches another life of a core than the one that its sender was connected with. When a core ends, those that it talked
  with hear `Disconnected`.
- What one core hears, it hears in the order in which it came. A core that is told of a break can send again at once: the connection is
  made anew by itself.

All of it is used from one event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from auroral.dpc.events import Disconnected, Received
from auroral.dpc.values import Message
from auroral.wire.counters import Counters

Deliver = Callable[[str, Received | Disconnected], Awaitable[None] | None]
"""Takes what happened to a core. What it gives back says when a frame is taken: nothing, at once; otherwise when that is done. Until then
the frame counts against the window of its stream, so that a slow reader holds up who sends to it, and nobody else."""


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds."""

    silence: float = 3.0
    """A peer that nothing was heard of for so long is cut off, or stands still: the connection breaks."""
    beat: float = 0.25
    """Whoever has nothing to say says so this often."""
    connect: float = 2.0
    """For which a connection may be in the making."""
    first_retry: float = 0.05
    """After a failed attempt; doubled with each further one, up to the longest, and drawn between half of it and all of it, so that nodes
    that lost one another do not come back in step."""
    longest_retry: float = 1.0
    nobody: float = 0.05
    """After which a core hears that there is nobody whom it sent to."""


class Transport(Protocol):
    """Of one node."""

    @property
    def node(self) -> str: ...

    async def start(self) -> None:
        """Can be reached from now on."""

    async def stop(self) -> None:
        """Every connection ends; no thread and no port is left, and nothing is delivered any more. (A question to a name server cannot be
        ended: its thread goes when it is answered, and does nothing with it.)"""

    def opened(self, core: str) -> None:
        """A core begins to live here, once more or for the first time."""

    def closed(self, core: str) -> None:
        """It does not live any more: nothing that is under way to it or from it arrives."""

    def send(self, sender: str, to: str, message: Message) -> None:
        """Never waits, and never fails because of the network. WireError for what can never be sent, whatever its reader would refuse: rows
        that are none, messages beyond the limits, a sender that does not live here. It is counted and logged, nothing of it is sent, and
        no connection breaks. Every value of rows is looked at, once however often they are sent: who makes large ones calls `measured`
        (`measuring`) where there is time for it, and the loop is not kept by them."""

    def backlog(self, sender: str) -> Mapping[tuple[str, str], int]:
        """Bytes of stable rows that a core gave and that were not taken, by who is to get them and stream: a host that sees them grow slows
        its jobs down."""

    def refuse(self, node: str, *, going: bool = True, coming: bool = True) -> None:
        """Cut, as if the cable were: what goes there, what comes from there, or both. Nothing passes and nobody is told; the connection breaks
        when it has been silent for too long. Healed before that, everything goes on. While any of it is cut, no connection is made."""

    def allow(self, node: str) -> None:
        """Heal whatever was refused."""

    def slow(self, node: str, seconds: float) -> None:
        """What goes there and what comes from there takes so much longer, in its order; 0 for no longer."""

    @property
    def counters(self) -> Mapping[str, Counters]:
        """By peer."""
