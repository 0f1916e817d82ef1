"""The cores of a diagram that is cut into fragments: who there is, and who talks to whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from auroral.dpc.client import Client
from auroral.dpc.fragments import Fragment, Fragments
from auroral.dpc.layout import Layout, Topology, Wiring
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source

CLIENT = "client"
"""The core, and the node that it runs on."""
CATALOG = "catalog"
"""Likewise."""


def node_of(core: str) -> str:
    return core.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Assembly:
    fragments: Fragments
    settings: Settings
    bounds: Mapping[str, float] = field(default_factory=dict)
    """X of the outputs that have one of their own."""

    @property
    def topology(self) -> Topology:
        return Topology(
            {fragment.name: fragment.inputs for fragment in self.fragments.all},
            {fragment.name: fragment.streams for fragment in self.fragments.all},
            {stream: self.source_core(stream) for stream in self.fragments.sources},
            {CLIENT: self.fragments.client},
        )

    @property
    def layout(self) -> Layout:
        """That it begins with."""
        return Layout({f.name: tuple(f"{f.name}@{node}" for node in f.hosts) for f in self.fragments.all})

    def source_core(self, stream: str) -> str:
        return f"{stream}@{stream}"

    def fragment(self, core: str) -> Fragment:
        """Of a replica."""
        name = core.rpartition("@")[0]
        return next(fragment for fragment in self.fragments.all if fragment.name == name)

    def computed_from(self, stream: str) -> tuple[str, ...]:
        """The sources of a stream."""
        for fragment in self.fragments.all:
            for output in fragment.outputs:
                if output.stream == stream:
                    return tuple(sorted({source for read in output.reads for source in self.computed_from(read)}))
        return (stream,)

    def bound(self, stream: str) -> float:
        """The lowest of those that are computed from it, or are it."""
        found = [self.bounds.get(stream, self.settings.bound)] if stream in self.fragments.client else []
        for fragment in self.fragments.all:
            found += [self.bound(output.stream) for output in fragment.outputs if stream in output.reads]
        return min(found)

    def source(self, stream: str, layout: Layout) -> Source:
        readers = self._wiring(self.source_core(stream), layout).readers[stream]
        return Source(stream, readers, self.settings)

    def replica(self, core: str, layout: Layout, recovering: bool) -> Replica:
        """What it keeps of its outputs survives it."""
        fragment, wiring = self.fragment(core), self._wiring(core, layout)
        outputs = {
            output.stream: replace(output, readers=wiring.readers[output.stream], bound=self.bound(output.stream))
            for output in fragment.outputs
        }
        sources = {stream: self.computed_from(stream) for stream in fragment.inputs}
        spec = ReplicaSpec(core, wiring.inputs, sources, outputs, wiring.peers, durable=True)
        return Replica(spec, self.settings, recovering)

    def client(self, layout: Layout) -> Client:
        return Client(CLIENT, self._wiring(CLIENT, layout).inputs, self.settings)

    def reconfiguration(self, layout: Layout) -> Reconfiguration:
        return Reconfiguration(self.topology, layout)

    def _wiring(self, core: str, layout: Layout) -> Wiring:
        return layout.at_start.wirings(self.topology)[core]
