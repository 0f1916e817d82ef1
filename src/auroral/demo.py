"""The demonstration: records of three sites, on two queries with two replicas each, that lose an input and a node and recover.

Records are merged; of each source, the connections and the distinct ports over a sliding window are counted; a host that exceeds both
thresholds is an alert.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import auroral
from auroral.model.deployment import LOCAL_HOST, endpoint
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet, free_ports

if TYPE_CHECKING:
    from auroral.commands.interrupts import Wish


SITES = ("oslo", "bern", "lima")
RECORD = "ts timestamp, src string(15), dst string(15), port int"

scans = auroral.diagram("scans", bucket="1s")
oslo, bern, lima = (scans.input(site, RECORD, stime="ts") for site in SITES)
with scans.query("merge"):
    connections = oslo.union("connections", bern, lima)
with scans.query("watch"):
    counts = {"connections": "count()", "ports": "count_distinct(port)"}
    hosts = connections.aggregate("hosts", counts, window="4s", advance="1s", by=["src"])
    hosts.filter("alerts", "connections > 20 and ports > 10").output(availability="5s")

RATE = 100
"""Ordinary connections a second at each site."""
TICK = 0.1
SCANNER = "10.66.6.6"
SCAN_RATE = 30
SECONDS = 55.0
"""That the times below are of; longer and shorter demonstrations have them in proportion."""
SCAN = (5.0, 50.0)
STEPS = (
    (10.0, "cut", "lima is cut off: its records do not come any more"),
    (25.0, "heal", "lima is back"),
    (35.0, "kill", "node watcha is killed"),
    (45.0, "restart", "node watcha is started again"),
)
LOST, VICTIM = "lima", "watcha"
SETTLED_WITHIN = 120.0
"""Seconds after the end of the traffic in which everything must be corrected, on a machine that has other things to do."""
_PORTS = (22, 25, 53, 80, 123, 443, 993)

INTRODUCTION = """\
Three sites (oslo, bern, lima) -> query merge, on nodes mergea and mergeb -> query watch, on watcha and watchb -> alerts
A host scans ports, and is to be found within X = 5 s, also while lima is cut off (10 s to 25 s) and while node watcha
is dead (35 s to 45 s). Starting one Spark and nine processes ..."""


def deploy(folder: Path, master: str = "local[2]") -> Deployed:
    ports = iter(free_ports(4))

    def replicas(query: str) -> str:
        nodes = "".join(f'<node endpoint="{LOCAL_HOST}:{next(ports)}"/>' for _ in range(2))
        return f'<replica_set name="{query}" query="{query}">{nodes}</replica_set>'

    return prepare(folder, scans.check(), f"<deploy>{replicas('merge')}{replicas('watch')}</deploy>", master=master)


def traffic(random: Random, count: int, low: int, high: int) -> list[dict[str, Any]]:
    """Ordinary connections with times in [low, high): many sources, few ports."""
    return sorted(
        (
            {
                "ts": random.randrange(low, high),
                "src": f"10.{random.randrange(4)}.0.{random.randrange(1, 60)}",
                "dst": f"192.168.0.{random.randrange(1, 20)}",
                "port": random.choice(_PORTS),
            }
            for _ in range(count)
        ),
        key=lambda row: row["ts"],
    )


def scan(random: Random, count: int, low: int, high: int) -> list[dict[str, Any]]:
    """One host that tries port after port."""
    rows = traffic(random, count, low, high)
    return [row | {"src": SCANNER, "port": random.randrange(1, 1024)} for row in rows]


@dataclass(slots=True)
class Traffic:
    """Sends what happens at a site as it happens, as lines to its source."""

    site: str
    where: str
    seed: int
    seconds: float
    stop: threading.Event | Wish = field(default_factory=threading.Event)
    sent: int = 0
    failed: str | None = None

    def run(self) -> None:
        try:
            self._run()
        except OSError as error:
            self.failed = f"{self.site} takes no more records: {error}"

    def _run(self) -> None:
        random, at = Random(f"{self.site} {self.seed}"), endpoint(self.where)
        began, clock, gone = time.monotonic(), time.time_ns() // 1000, 0.0
        with socket.create_connection((at.host, at.port)) as connection:
            threading.Thread(target=_drained, args=(connection,), daemon=True).start()
            while gone < self.seconds and not self.stop.wait(TICK):
                before, gone = gone, min(time.monotonic() - began, self.seconds)
                low, high = clock + int(before * 1e6), clock + max(int(gone * 1e6), int(before * 1e6) + 1)
                rows = traffic(random, round(RATE * (gone - before)), low, high)
                if SCAN[0] <= gone / self.seconds * SECONDS <= SCAN[1]:
                    rows = sorted([*rows, *scan(random, round(SCAN_RATE * (gone - before)), low, high)], key=_ts)
                connection.sendall(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
                self.sent += len(rows)


def _ts(row: dict[str, Any]) -> int:
    return int(row["ts"])


def _drained(connection: socket.socket) -> None:
    """Reads the answers, which nobody needs here."""
    with suppress(OSError):
        while connection.recv(1 << 16):
            pass


def happening(fleet: Fleet, seconds: float, seed: int, stop: Wish) -> Iterator[tuple[float, str | None]]:
    """Lets traffic flow and failures happen; gives, several times a second, the seconds gone and what has just happened."""
    status = fleet.status()
    sites = [Traffic(site, status[site]["lines"], seed, seconds, stop) for site in SITES]  # type: ignore[index]
    threads = [threading.Thread(target=site.run, name=f"traffic-{site.site}", daemon=True) for site in sites]
    for thread in threads:
        thread.start()
    began, steps = time.monotonic(), list(STEPS)
    restarting: list[threading.Thread] = []
    while (gone := time.monotonic() - began) < seconds and not stop.is_set():
        said = None
        if steps and gone >= steps[0][0] * seconds / SECONDS:
            _, what, said = steps.pop(0)
            restarting += _do(fleet, what)
        yield gone, said
        time.sleep(TICK)
    for thread in (*threads, *restarting):
        thread.join()
    for failed in filter(None, (site.failed for site in sites)):
        yield gone, failed


def _do(fleet: Fleet, what: str) -> list[threading.Thread]:
    match what:
        case "cut" | "heal":
            do: Callable[[str, str], None] = fleet.cut if what == "cut" else fleet.heal
            for node in fleet.deployed.fragments.all[0].hosts:
                do(LOST, node)
        case "kill":
            fleet.kill(VICTIM)
        case "restart":
            # Beside what is shown: it takes some seconds.
            starting = threading.Thread(target=fleet.start, args=([VICTIM],), daemon=True)
            starting.start()
            return [starting]
    return []


def settled(fleet: Fleet) -> Iterator[bool]:
    """Whether all that was closed at all sources has become stable; for as long as that may take."""
    until = time.monotonic() + SETTLED_WITHIN
    while time.monotonic() < until:
        status = fleet.status()
        closed = [(status[site] or {}).get("closed", 0) for site in SITES]
        client = status["client"] or {"streams": {}}
        stable = [one.get("frontier", 0) for one in client["streams"].values()]
        done = bool(stable) and min(stable) >= min(closed)
        yield done
        if done:
            return
        time.sleep(0.2)
