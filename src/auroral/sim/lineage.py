"""What every content of a bucket was truly made from, whatever the protocol says of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from auroral.dpc.coverage import Level
from auroral.dpc.events import Evaluate, Evaluated
from auroral.dpc.port import Port
from auroral.dpc.sunion import OutputSpec
from auroral.dpc.values import Content, Snapshot

Gaps = Mapping[tuple[str, int], Level]
"""Source and bucket, where not all of it was there."""


@dataclass(frozen=True, slots=True)
class Made:
    stream: str
    bucket: int
    content: Content
    gaps: Gaps
    by: str = ""
    """The core that had it evaluated; nobody for what a source logged."""
    job: Evaluate | None = None


@dataclass(slots=True)
class Lineage:
    computed_from: Mapping[str, tuple[str, ...]]
    """The sources of each stream."""
    made: dict[int, Made] = field(default_factory=dict)
    """By the identity of the content, which is kept alive here."""
    states: dict[int, tuple[Content, Gaps]] = field(default_factory=dict)
    """Of folds, what was missing in all that led to a state."""

    def add(
        self, stream: str, bucket: int, content: Content, gaps: Gaps, by: str = "", job: Evaluate | None = None
    ) -> None:
        self.made[id(content)] = Made(stream, bucket, content, gaps, by, job)

    def of(self, content: Content) -> Made | None:
        return self.made.get(id(content))

    def evaluated(
        self,
        by: str,
        outputs: Mapping[str, OutputSpec],
        ports: Mapping[str, Port],
        job: Evaluate,
        result: Evaluated,
        final: Mapping[str, Snapshot],
    ) -> None:
        """`final`: the stable state of each fold. What was guessed right may have been made from what was not known to be all."""
        for stream, given in result.contents.items():
            output, first = outputs[stream], job.begin
            gaps: Gaps = {}
            if output.folds:
                start = job.states[stream]
                if start != final[stream]:
                    _, gaps = self.states.get(id(start.state), (None, {}))
                first = start.bucket
            for bucket in range(first, job.end):
                new = self._gaps(output, ports, job, bucket)
                gaps = _worst(gaps, new) if output.folds else new
                if bucket >= job.begin:
                    self.add(stream, bucket, given[bucket - job.begin], gaps, by, job)
            if output.folds:
                state = result.states[stream]
                self.states[id(state)] = (state, gaps)

    def _gaps(self, output: OutputSpec, ports: Mapping[str, Port], job: Evaluate, bucket: int) -> Gaps:
        found: dict[tuple[str, int], Level] = {}
        if not job.tentative:
            return found
        for name, horizon in output.reads.items():
            for read in range(max(0, bucket - horizon + 1), bucket + 1):
                for place, level in self._of_input(name, read, ports[name], job.view[name].get(read)):
                    found[place] = max(level, found.get(place, level))
        return found

    def _of_input(
        self, name: str, bucket: int, port: Port, content: Content | None
    ) -> Iterator[tuple[tuple[str, int], Level]]:
        if content is None:
            yield from (((source, bucket), Level.MISSING) for source in self.computed_from[name])
        elif bucket not in port.stable and (made := self.of(content)) is not None:
            yield from made.gaps.items()

    def wrong_in(self, view: Mapping[str, Mapping[int, Content]]) -> Iterator[tuple[str, int]]:
        """What is no version of the bucket that it stands for."""
        for stream, contents in view.items():
            for bucket, content in contents.items():
                made = self.of(content)
                if made is None or (made.stream, made.bucket) != (stream, bucket):
                    yield stream, bucket


def _worst(one: Gaps, other: Gaps) -> Gaps:
    return {place: max(found.get(place, Level.COMPLETE) for found in (one, other)) for place in {*one, *other}}
