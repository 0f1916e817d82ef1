"""What went to a peer, what came from it, and what did not. Nothing is lost or refused silently."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from auroral.wire.lanes import Way

MOST_REASONS = 64
OTHERS = "(others)"
_SAID = re.compile(r"(['\"]).*?\1|\d+")


class Reasons(Counter[str]):
    """How often something happened, by what was said of it. Others may have a say in that: beyond so many, all further are counted as one."""

    def __setitem__(self, reason: str, count: int) -> None:
        if reason in self or len(self) < MOST_REASONS or reason == OTHERS:
            super().__setitem__(reason, count)
        else:
            # It was none before.
            self[OTHERS] += count


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
    lost: Reasons = field(default_factory=Reasons)
    """Messages that could not be sent, by reason. Their senders are told of the break."""
    unsendable: Reasons = field(default_factory=Reasons)
    """Messages that can never be sent, by kind: errors of their senders, who are told."""
    refused: Reasons = field(default_factory=Reasons)
    """Messages and connections that came and were not taken, by reason."""
    connected: int = 0
    broken: Reasons = field(default_factory=Reasons)
    """Connections that broke or could not be made, by reason."""

    def sends(self, way: Way, size: int) -> None:
        self.sent[way] += 1
        self.sent_bytes[way] += size

    def receives(self, way: Way, size: int) -> None:
        self.received[way] += 1
        self.received_bytes[way] += size

    def absorb(self, others: Counters) -> None:
        for mine, theirs in (
            (self.sent, others.sent),
            (self.sent_bytes, others.sent_bytes),
            (self.received, others.received),
            (self.received_bytes, others.received_bytes),
        ):
            mine.update(theirs)
        self.dropped.update(others.dropped)
        for reasons, more in (
            (self.lost, others.lost),
            (self.unsendable, others.unsendable),
            (self.refused, others.refused),
            (self.broken, others.broken),
        ):
            for reason, count in more.items():
                reasons[reason] += count
        self.connected += others.connected


def kind_of(reason: str) -> str:
    """To count by, without what strangers can say at will: names and numbers."""
    return short(_SAID.sub("…", reason))


def short(reason: str) -> str:
    """To count by: addresses and the like are in the log."""
    return reason.splitlines()[0][:120] if reason else "unknown"
