"""The cores of a diagram that is cut into fragments: who there is, and who talks to whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from auroral.dpc.client import Client
from auroral.dpc.fragments import Fragment, Fragments
from auroral.dpc.layout import Layout, Topology, Wiring
from auroral.dpc.reconfiguration import Reconfiguration
from auroral.dpc.replica import Replica, ReplicaSpec
from auroral.dpc.settings import Settings
from auroral.dpc.source import Source
from auroral.dpc.versions import Reading, Readings

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
    later: Mapping[str, Readings] = field(default_factory=dict)
    """By query, what its later versions read."""

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
        """The sources of a stream, by any version."""
        reads = self._reads
        return tuple(sorted(found for found in _reached(stream, reads) if found not in reads))

    def bound(self, stream: str) -> float:
        """The lowest of those that are computed from it, by any version, or are it. What nobody reads is held back by nobody."""
        readers: dict[str, set[str]] = {}
        for output, read in self._reads.items():
            for one in read:
                readers.setdefault(one, set()).add(output)
        client = [found for found in _reached(stream, readers) if found in self.fragments.client]
        return min((self.bounds.get(found, self.settings.bound) for found in client), default=0.0)

    @property
    def _reads(self) -> dict[str, set[str]]:
        """By output."""
        found: dict[str, set[str]] = {}
        for fragment in self.fragments.all:
            for output in fragment.outputs:
                later = [said[output.stream].reads for said in self._later(fragment) if output.stream in said]
                found[output.stream] = set(output.reads).union(*later)
        return found

    def _later(self, fragment: Fragment) -> Iterable[Mapping[str, Reading]]:
        return self.later.get(fragment.name, {}).values()

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
        later = {stream for said in self._later(fragment) for one in said.values() for stream in one.reads}
        sources = {stream: self.computed_from(stream) for stream in later.union(wiring.inputs)}
        readings = self.later.get(fragment.name, {})
        spec = ReplicaSpec(core, wiring.inputs, sources, outputs, wiring.peers, durable=True, readings=readings)
        return Replica(spec, self.settings, recovering)

    def client(self, layout: Layout) -> Client:
        return Client(CLIENT, self._wiring(CLIENT, layout).inputs, self.settings)

    def reconfiguration(self, layout: Layout) -> Reconfiguration:
        return Reconfiguration(self.topology, layout)

    def _wiring(self, core: str, layout: Layout) -> Wiring:
        return layout.at_start.wirings(self.topology)[core]


def _reached(stream: str, leads_to: Mapping[str, Iterable[str]]) -> set[str]:
    """With itself. A version that was given up may close a loop with a later one."""
    found, left = {stream}, [stream]
    while left:
        new = set(leads_to.get(left.pop(), ())) - found
        found |= new
        left += new
    return found
