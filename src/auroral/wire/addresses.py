"""Where cores live, and where nodes are reached. Can be changed while transports use it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from auroral.model.deployment import Endpoint


@dataclass(slots=True)
class AddressBook:
    """A core that is not in it may still come in over a connection, and is answered there: a client, or one that has just moved. A node
    without an address is never called, but may call. In a book that is closed, whoever is not in it may not."""

    nodes: dict[str, Endpoint] = field(default_factory=dict)
    cores: dict[str, str] = field(default_factory=dict)
    """By core, its node."""
    closed: bool = False
    watchers: list[Callable[[str], None]] = field(default_factory=list)
    """Told which core has another node, or none, from now on."""

    def __contains__(self, node: str) -> bool:
        return node in self.nodes or node in self.cores.values()

    def locate(self, node: str, endpoint: Endpoint | None) -> None:
        """From the next connection on."""
        if endpoint is None:
            self.nodes.pop(node, None)
        else:
            self.nodes[node] = endpoint

    def place(self, core: str, node: str | None) -> None:
        if self.cores.get(core) == node:
            return
        if node is None:
            del self.cores[core]
        else:
            self.cores[core] = node
        for watcher in list(self.watchers):
            watcher(core)

    def place_all(self, cores: Mapping[str, str]) -> None:
        for core, node in cores.items():
            self.place(core, node)
