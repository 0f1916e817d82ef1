"""Counts what the host of a process shows: jobs, what is sent, and whom streams are read from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from auroral.dpc.events import Effect, Evaluate, Evaluated, Event, Failed, Send
from auroral.dpc.histogram import Histogram
from auroral.dpc.switching import Lane
from auroral.dpc.values import Confirm, Gap, Message, Stable, Subscribe, Tentative
from auroral.node.fleet.clock import Clock
from auroral.node.fleet.metrics.exposition import Sample


@dataclass(slots=True)
class Counting:
    """Shown every event with what a core wanted, since metrics were asked for."""

    clock: Clock
    jobs: dict[tuple[str, str], Histogram] = field(default_factory=dict)
    """By query and lane."""
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    sent: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Buckets, by stream and kind."""
    switches: Counter[str] = field(default_factory=Counter)
    _running: dict[tuple[str, int], tuple[float, str]] = field(default_factory=dict)
    _read_from: dict[tuple[str, str, bool], str] = field(default_factory=dict)
    """By who reads, stream, and whether for what is new or for corrections."""

    def saw(self, core: str, event: Event, effects: Sequence[Effect]) -> None:
        match event:
            case Evaluated(job) | Failed(job):
                self._ended(core, job, isinstance(event, Failed))
            case _:
                pass
        for effect in effects:
            match effect:
                case Send(to, message):
                    self._sent(core, to, message)
                case Evaluate():
                    lane = "tentative" if effect.tentative else "stable"
                    self._running[core, effect.job] = (self.clock.now(), lane)
                    self.failed[core.rpartition("@")[0], lane] += 0
                case _:
                    pass

    def _ended(self, core: str, job: int, failed: bool) -> None:
        # Those that ran when metrics were asked for were not seen to begin.
        if (found := self._running.pop((core, job), None)) is None:
            return
        began, lane = found
        key = (core.rpartition("@")[0], lane)
        if failed:
            self.failed[key] += 1
        else:
            self.jobs.setdefault(key, Histogram()).add(self.clock.now() - began)

    def _sent(self, core: str, to: str, message: Message) -> None:
        match message:
            case Stable():
                self.sent[message.stream, "stable"] += len(message.contents)
            case Confirm():
                self.sent[message.stream, "confirmed"] += len(message.hashes)
            case Tentative(closed=True):
                self.sent[message.stream, "tentative"] += 1
            case Gap():
                self.sent[message.stream, "gap"] += message.end - message.begin
            case Subscribe():
                self._subscribes(core, to, message)
            case _:
                pass

    def _subscribes(self, core: str, to: str, asked: Subscribe) -> None:
        lanes = {Lane.FRESH: (True,), Lane.CORRECT: (False,), Lane.BOTH: (True, False)}[asked.lane]
        # Counted from zero on: of a counter that begins with one, nobody sees that it has gone up.
        self.switches[asked.stream] += 0
        before = {self._read_from.get((core, asked.stream, fresh)) for fresh in lanes}
        if before - {None, to}:
            self.switches[asked.stream] += 1
        self._read_from.update({(core, asked.stream, fresh): to for fresh in lanes})

    def samples(self) -> Iterator[Sample]:
        for (query, lane), histogram in self.jobs.items():
            yield Sample("auroral_job_seconds", histogram, {"query": query, "lane": lane})
        for (query, lane), count in self.failed.items():
            yield Sample("auroral_jobs_failed_total", count, {"query": query, "lane": lane})
        for (stream, kind), count in self.sent.items():
            yield Sample("auroral_sent_buckets_total", count, {"stream": stream, "as": kind})
        for stream, count in self.switches.items():
            yield Sample("auroral_switches_total", count, {"stream": stream})
