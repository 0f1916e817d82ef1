"""What is possible: an oracle that knows all cuts and crashes, and tries every replica of everything (D76)."""

from __future__ import annotations

from dataclasses import dataclass, field

from auroral.dpc.coverage import Level
from auroral.dpc.settings import Policy
from auroral.dpc.sunion import MOST_BUCKETS, OutputSpec
from auroral.sim.scenario import CLIENT, Scenario, host
from auroral.sim.seen import Moment, Tree

Interval = tuple[float, float]


@dataclass(slots=True)
class Oracle:
    scenario: Scenario
    names: dict[str, tuple[str, ...]] = field(init=False)
    outputs: dict[str, OutputSpec] = field(init=False)
    changed: dict[str, Tree] = field(default_factory=dict)
    """What could come of each stream when something last changed."""
    lacking: dict[str, float] = field(init=False)
    """Of streams with constraints, the seconds from a change until what was lost by it, be it by a reader that went over to another
    replica, is in none of the buckets that are read: until then nobody knows what is given. Of others none."""

    def __post_init__(self) -> None:
        self.names = {stream: self.scenario.names(stream) for stream in self.scenario.streams}
        self.outputs = self.scenario.specs
        self.lacking = {stream: self._lacking(stream) for stream in self.scenario.outputs}

    def _lacking(self, stream: str) -> float:
        settings = self.scenario.settings
        if not self.constrained(stream):
            return 0.0
        return self.settled() + settings.bound + self.history(stream) * settings.bucket

    def stable_since(self, moment: Moment, stream: str, reader: str = CLIENT) -> float | None:
        """Since when one and the same tree with all sources has led to the reader; None if there is none now."""
        found = []
        for name in self.names[stream]:
            link = moment.links.get((name, reader))
            given = None if link is None else self._given_since(moment, stream, name)
            if link is not None and given is not None:
                found.append(max(link, given))
        return min(found, default=None)

    def _given_since(self, moment: Moment, stream: str, name: str) -> float | None:
        if stream not in self.outputs:
            return moment.closing.get(stream)
        since = [self.stable_since(moment, read, name) for read in self.outputs[stream].reads]
        known = [time for time in since if time is not None]
        if len(known) < len(since) or name not in moment.free:
            return None
        return max([moment.living[name], moment.free[name], *known])

    def anything(self, moment: Moment, stream: str, reader: str = CLIENT) -> bool:
        """Whether the reader can be given something of the stream, be it tentative."""
        return any((n, reader) in moment.links and self._gives(moment, stream, n) for n in self.names[stream])

    def _gives(self, moment: Moment, stream: str, name: str) -> bool:
        if stream not in self.outputs:
            return stream in moment.giving
        if name in moment.mute:
            return False
        output = self.outputs[stream]
        if not all(any(self.anything(moment, read, name) for read in group) for group in output.required):
            return False
        return all(
            len(self._surely(moment, stream, name, one.worst) & one.sources) >= one.number for one in output.constraints
        )

    def _surely(self, moment: Moment, stream: str, name: str, worst: Level) -> frozenset[str]:
        """The sources that are in what it gives, this well at least, whichever replicas are read on the way: which of several that lack
        something is read is not chosen by what they lack."""
        if stream not in self.outputs:
            given = moment.closing if worst is Level.COMPLETE else moment.giving
            return frozenset([stream]) if stream in given else frozenset()
        found = frozenset[str]()
        for read in self.outputs[stream].reads:
            giving = [n for n in self.names[read] if (n, name) in moment.links and self._gives(moment, read, n)]
            each = [self._surely(moment, read, one, worst) for one in giving]
            found |= frozenset.intersection(*each) if each else frozenset()
        return found

    def constrained(self, stream: str) -> bool:
        """Whether it, or something that it is computed from, is given only if enough is in it."""
        if stream not in self.outputs:
            return False
        output = self.outputs[stream]
        return bool(output.constraints) or any(map(self.constrained, output.reads))

    def history(self, stream: str) -> int:
        """Buckets of its sources that it reads at most."""
        if stream not in self.outputs:
            return 0
        return max(horizon + self.history(read) for read, horizon in self.outputs[stream].reads.items())

    def settled(self) -> float:
        """Seconds after which a tree that is whole gives stable buckets again: what failed is found to be back, what was missed is
        fetched and corrected level by level, in turns where jobs take long, and the newest comes. Of what is corrected, no more than one
        job takes at once."""
        scenario = self.scenario
        levels = max(map(self.depth, scenario.outputs))
        turns = 10.0 if scenario.job >= scenario.settings.bucket else 0.0
        jobs = 10 * scenario.job + MOST_BUCKETS * scenario.job_bucket
        return scenario.settings.detection + 2.0 + levels * (0.25 + jobs) + turns

    def depth(self, stream: str) -> int:
        """Replicas on the longest way from a source."""
        if stream not in self.outputs:
            return 0
        return 1 + max(self.depth(read) for read in self.outputs[stream].reads)

    def ways(self, stream: str, reader: tuple[str, ...] = (CLIENT,)) -> dict[frozenset[str], int]:
        """Between which hosts it and what it is computed from goes, and at which depth."""
        names = self.names[stream]
        found = {frozenset((host(one), host(other))): self.depth(stream) for one in names for other in reader}
        for read in self.outputs[stream].reads if stream in self.outputs else ():
            found = self.ways(read, names) | found
        return found

    def longest_way(self, stream: str) -> int:
        """Replicas on the longest way from a source to a last output that goes through the stream, or through one that it is computed from:
        a replica sets aside what the slowest of its readers takes."""
        if stream not in self.outputs:
            return 0
        through = self.depth(stream) + self._height(stream)
        return max([through, *map(self.longest_way, self.outputs[stream].reads)])

    def _height(self, stream: str) -> int:
        """Replicas on the longest way from it to a last output."""
        behind = (self._height(name) + 1 for name, output in self.outputs.items() if stream in output.reads)
        return max(behind, default=0)

    def set_aside(self, stream: str) -> float:
        """What the replicas on the longest way may set aside of the bound for their own work, and for a failover of each."""
        settings, job = self.scenario.settings, self.scenario.shortest_job
        delays = {Policy.DELAY, Policy.ADAPT} & {settings.while_failing, settings.while_correcting}
        own = 2 * job if delays and job > settings.bucket else job
        return self.longest_way(stream) * (1.5 * own + 2 * settings.hop + settings.failover)

    def grow(self, trees: dict[str, list[Tree]], moments: list[Moment]) -> None:
        """What could come to the client at each moment that is new."""
        for stream, known in trees.items():
            for number in range(len(known), len(moments)):
                moment = moments[number]
                if not number or not _alike(moments[number - 1], moment):
                    now = Tree(moment.at, self.stable_since(moment, stream), self.anything(moment, stream))
                    self.changed[stream] = now
                found = self.changed[stream]
                anything = found.anything and moment.at >= found.at + self.lacking[stream]
                known.append(Tree(moment.at, found.stable_since, anything))


def _alike(one: Moment, other: Moment) -> bool:
    return (
        one.links == other.links
        and one.living == other.living
        and one.giving == other.giving
        and one.closing == other.closing
        and one.mute == other.mute
        and one.free == other.free
    )
