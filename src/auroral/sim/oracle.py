"""What is possible: an oracle that knows all cuts and crashes, and tries every replica of everything (D76)."""

from __future__ import annotations

from dataclasses import dataclass, field

from auroral.dpc.settings import Policy
from auroral.dpc.sunion import OutputSpec
from auroral.sim.record import Moment, Tree
from auroral.sim.scenario import CLIENT, Scenario

Interval = tuple[float, float]


@dataclass(slots=True)
class Oracle:
    scenario: Scenario
    names: dict[str, tuple[str, ...]] = field(init=False)
    outputs: dict[str, OutputSpec] = field(init=False)

    def __post_init__(self) -> None:
        self.names = {stream: self.scenario.names(stream) for stream in self.scenario.streams}
        self.outputs = {output.stream: output for query in self.scenario.queries for output in query.outputs}

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
        return all(any(self.anything(moment, read, name) for read in group) for group in self.outputs[stream].required)

    def depth(self, stream: str) -> int:
        """Replicas on the longest way from a source."""
        if stream not in self.outputs:
            return 0
        return 1 + max(self.depth(read) for read in self.outputs[stream].reads)

    def set_aside(self, stream: str) -> float:
        """What the replicas on the longest way may set aside of the bound for their own work."""
        settings, job = self.scenario.settings, self.scenario.job
        delays = {Policy.DELAY, Policy.ADAPT} & {settings.while_failing, settings.while_correcting}
        own = 2 * job if delays and job > settings.bucket else job
        return self.depth(stream) * (1.5 * own + 2 * settings.hop)

    def grow(self, trees: dict[str, list[Tree]], moments: list[Moment]) -> None:
        """What could come to the client at each moment that is new."""
        for stream, known in trees.items():
            for number in range(len(known), len(moments)):
                moment = moments[number]
                if number and _alike(moments[number - 1], moment):
                    known.append(known[-1]._replace(at=moment.at))
                else:
                    known.append(Tree(moment.at, self.stable_since(moment, stream), self.anything(moment, stream)))


def _alike(one: Moment, other: Moment) -> bool:
    return (
        one.links == other.links
        and one.living == other.living
        and one.giving == other.giving
        and one.closing == other.closing
        and one.mute == other.mute
        and one.free == other.free
    )
