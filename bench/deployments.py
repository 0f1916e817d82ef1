"""Deployments for benchmarks: real processes on this machine, fed over TCP at a steady rate."""

from __future__ import annotations

import json
import math
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import auroral as au
from auroral.client import connect
from auroral.client.events import Gap, Tentative
from auroral.dpc.settings import AS_USUAL, Choices
from auroral.model.builder import DiagramBuilder
from auroral.model.deployment import LOCAL_HOST, endpoint
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet, free_ports

SITES = ("a", "b", "c")
KEYS = 100
_TICK = 0.05


def diagram(bucket: str, bound: str, chain: bool, rows: int | None = None) -> DiagramBuilder:
    """Three inputs, merged and filtered, and counted by key over windows: in one query, or in two.

    Windows are of 2 s, or of so many rows of a key: then it is a fold.
    """
    d = au.diagram("load", bucket=bucket)
    a, b, c = (d.input(site, "k int, v double") for site in SITES)
    with d.query("merge"):
        merged = a.union("all", b, c).filter("some", "v >= 0.0")
    with d.query("count" if chain else "merge"):
        sums = {"n": "count()", "total": "sum(v)"}
        if rows is None:
            counted = merged.aggregate("sums", sums, window="2s", advance=bucket, by=["k"])
        else:
            counted = merged.aggregate_rows("sums", sums, rows=rows, by=["k"])
        counted.output(availability=bound)
    return d


@contextmanager
def running(d: DiagramBuilder, chain: bool, replicas: int = 2, choices: Choices = AS_USUAL) -> Iterator[Fleet]:
    queries = ("merge", "count") if chain else ("merge",)
    ports = iter(free_ports(replicas * len(queries)))

    def placed(query: str) -> str:
        nodes = "".join(f'<node endpoint="{LOCAL_HOST}:{next(ports)}"/>' for _ in range(replicas))
        return f'<replica_set name="{query}" query="{query}">{nodes}</replica_set>'

    with tempfile.TemporaryDirectory(prefix="auroral-bench-") as folder:
        text = f"<deploy>{''.join(map(placed, queries))}</deploy>"
        fleet = Fleet(prepare(Path(folder) / "live", d.check(), text, choices=choices))
        try:
            yield fleet.up(lambda _: None)
        finally:
            fleet.down(lambda _: None)


class Senders:
    """Rows to all sites, so many a second at each, for as long as it is open."""

    def __init__(self, fleet: Fleet, rate: int):
        self._stop = threading.Event()
        self.behind = 0.0
        """Seconds by which a sender is behind its rate: a source that takes rows too slowly holds it up."""
        lines = [json.dumps({"k": n % KEYS, "v": float(n % 1000)}).encode() + b"\n" for n in range(rate)]
        self._threads = [
            threading.Thread(target=self._send, args=(fleet.deployed.agreed.inputs[site], lines), daemon=True)
            for site in SITES
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _send(self, where: str, lines: list[bytes]) -> None:
        at = endpoint(where.removeprefix("tcp:"))
        began, sent = time.monotonic(), 0
        with socket.create_connection((at.host, at.port)) as connection:
            threading.Thread(target=_answers, args=(connection,), daemon=True).start()
            while not self._stop.wait(_TICK):
                due = int((time.monotonic() - began) * len(lines))
                connection.sendall(b"".join(lines[n % len(lines)] for n in range(sent, due)))
                sent = due
                self.behind = max(self.behind, time.monotonic() - began - due / len(lines))


def _answers(connection: socket.socket) -> None:
    """Read, so that the source can go on saying them."""
    try:
        while connection.recv(1 << 16):
            pass
    except OSError:
        # It is closed here.
        return


def until(found: Callable[[], Any], within: float = 180.0) -> Any:
    end = time.monotonic() + within
    while not (what := found()):
        if time.monotonic() > end:
            raise TimeoutError(f"not within {within:g} s")
        time.sleep(0.02)
    return what


def client(fleet: Fleet) -> dict[str, Any]:
    found: dict[str, Any] = fleet.ask("client", "status")
    return found


@dataclass(frozen=True, slots=True)
class Arrival:
    end: float
    """Of the bucket, in seconds since 1970."""
    at: float
    tentative: bool
    rows: int

    @property
    def latency(self) -> float:
        return self.at - self.end


class Deliveries:
    """What an application is given of the output, and when: each bucket counts when it is given for the first time."""

    def __init__(self, fleet: Fleet, stream: str = "sums"):
        self.new: list[Arrival] = []
        self.uncorrected: set[float] = set()
        """Ends of buckets that are tentative now."""
        self._client = connect(fleet.deployed.folder)
        self._events = self._client.subscribe(stream, since="now")
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._events.close()
        self._thread.join()
        self._client.close()

    def since(self, when: float, until: float = math.inf) -> list[Arrival]:
        return [one for one in self.new if when <= one.at < until]

    def usual(self, last: int = 40) -> float:
        return median(one.latency for one in self.new[-last:])

    def warm(self, within: float = 300.0) -> float:
        """Until they come no faster: the median of 40 is not below 0.9 of that of the 40 before. Gives that median."""
        until(
            lambda: len(self.new) >= 120 and self.usual() > 0.9 * median(a.latency for a in self.new[-80:-40]), within
        )
        return self.usual()

    def _take(self) -> None:
        newest = 0.0
        for event in self._events:
            at, end = time.time(), event.hi / 1e6
            tentative = isinstance(event, Tentative)
            if tentative:
                self.uncorrected.add(end)
            else:
                self.uncorrected = {one for one in self.uncorrected if one > end}
            if end > newest:
                newest = end
                self.new.append(Arrival(end, at, tentative, 0 if isinstance(event, Gap) else event.rows.num_rows))
