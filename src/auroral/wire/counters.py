"""What went to a peer, what came from it, and what did not. Nothing is lost or refused silently."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from auroral.wire.lanes import Way


@dataclass(slots=True)
class Counters:
    """Of one peer, since this process began."""

    sent: Counter[Way] = field(default_factory=Counter)
    """Messages that were given to the connection."""
    sent_bytes: Counter[Way] = field(default_factory=Counter)
    received: Counter[Way] = field(default_factory=Counter)
    received_bytes: Counter[Way] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    """Tentative frames that newer ones took the place of, by stream."""
    lost: Counter[str] = field(default_factory=Counter)
    """Messages that could not be sent, by reason. Their senders are told of the break."""
    unsendable: Counter[str] = field(default_factory=Counter)
    """Messages that can never be sent, by kind: errors of their senders, who are told."""
    refused: Counter[str] = field(default_factory=Counter)
    """Messages and connections that came and were not taken, by reason."""
    connected: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    """Connections that broke or could not be made, by reason."""

    def sends(self, way: Way, size: int) -> None:
        self.sent[way] += 1
        self.sent_bytes[way] += size

    def receives(self, way: Way, size: int) -> None:
        self.received[way] += 1
        self.received_bytes[way] += size
