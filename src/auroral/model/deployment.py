"""Deployments: which node runs which query, who sends streams in and who takes them out."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from auroral.model.errors import Place, Problem

NODE_PORT = 15000
MONITOR_PORT = 25000
ENDPOINTS = "host:port, :port, host or nothing (ports: 1 to 65535)"
LOCAL_HOST = "127.0.0.1"

OWN, SHARED = "own", "shared"
SPARKS = "own, shared, local[N] or spark://HOST:PORT"

_MASTER = re.compile(r"local\[(?:[1-9][0-9]{0,3}|\*)\]|spark://[^\s/:,]+:[0-9]{1,5}(?:,[^\s/:,]+:[0-9]{1,5})*")
_ENDPOINT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]/]*)(?::([0-9]{0,5}))?")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Rule 4: written `host:port`, `:port`, `host`, `host:` or nothing; a missing host is this machine."""

    host: str = LOCAL_HOST
    port: int = NODE_PORT

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def plain(self) -> Endpoint:
        """In one spelling: `localhost` is 127.0.0.1."""
        return replace(self, host=LOCAL_HOST) if self.host == "localhost" else self

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return (address := self._address) is not None and address.is_loopback

    @property
    def unspecified(self) -> bool:
        """Whether it stands for all addresses of a machine: one can listen there, and nobody else can call."""
        return (address := self._address) is not None and address.is_unspecified

    @property
    def _address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        try:
            return ipaddress.ip_address(self.plain.host.strip("[]"))
        except ValueError:
            return None

    def same(self, other: Endpoint) -> bool:
        """Whether both mean one place."""
        return self.plain == other.plain


def endpoint(text: str, default_port: int = NODE_PORT) -> Endpoint:
    """Read an endpoint; ValueError where it is none of ENDPOINTS."""
    match = _ENDPOINT.fullmatch(text.strip())
    port = int(match[2]) if match is not None and match[2] else default_port
    if match is None or not 0 < port < 65536:
        raise ValueError(f"{text[:60]!r} is no endpoint")
    return Endpoint(match[1].lower() or LOCAL_HOST, port)


def spark(text: str) -> str:
    """Which Spark a node computes with; ValueError where it is none of SPARKS."""
    text = text.strip()
    if text not in (OWN, SHARED) and _MASTER.fullmatch(text) is None:
        raise ValueError(f"{text[:60]!r} is no Spark of a node")
    return text


@dataclass(frozen=True, slots=True)
class Node:
    """`spark` is an extension of Borealis' files: one of SPARKS, where the node says which."""

    endpoint: Endpoint
    queries: tuple[str, ...] = ()
    spark: str | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class ReplicaSet:
    """Nodes that run the same queries."""

    name: str
    queries: tuple[str, ...] = ()
    nodes: tuple[Node, ...] = ()
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes that a monitor looks after; kept, and in force with monitors in a later release."""

    node: str | None = None
    endpoint: Endpoint | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Publish:
    """A stream that is sent in. `node` is an endpoint or a replica set's name; it is usually left out."""

    stream: str
    node: str | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Subscribe:
    """A stream that is taken out. `gap` is the tolerated run of lost tuples; None tolerates any."""

    stream: str
    endpoint: Endpoint | None = None
    gap: int | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    stream: str
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Client:
    prefix: str | None = None
    endpoint: Endpoint | None = None
    publishes: tuple[Publish, ...] = ()
    subscribes: tuple[Subscribe, ...] = ()
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Move:
    """A box or a table that changes its node."""

    node: str
    box: str | None = None
    table: str | None = None
    place: Place = field(default=Place(), compare=False)


@dataclass(frozen=True, slots=True)
class Deployment:
    """`publishes` and `subscribes` stand outside any client; `warnings` came up when it was read."""

    nodes: tuple[Node, ...] = ()
    replica_sets: tuple[ReplicaSet, ...] = ()
    regions: tuple[Region, ...] = ()
    clients: tuple[Client, ...] = ()
    publishes: tuple[Publish, ...] = ()
    subscribes: tuple[Subscribe, ...] = ()
    unsubscribes: tuple[Unsubscribe, ...] = ()
    moves: tuple[Move, ...] = ()
    warnings: tuple[Problem, ...] = field(default=(), compare=False)

    @property
    def all_nodes(self) -> Iterator[Node]:
        yield from self.nodes
        for replicas in self.replica_sets:
            yield from replicas.nodes

    @property
    def sparks(self) -> dict[Endpoint, str]:
        """Of the nodes that say which, by their plain endpoint."""
        return {node.endpoint.plain: node.spark for node in self.all_nodes if node.spark is not None}

    @property
    def all_publishes(self) -> Iterator[Publish]:
        yield from self.publishes
        for client in self.clients:
            yield from client.publishes

    @property
    def all_subscribes(self) -> Iterator[Subscribe]:
        yield from self.subscribes
        for client in self.clients:
            yield from client.subscribes
