"""A small deployment for tests, fed over TCP."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import auroral
from auroral.model.builder import DiagramBuilder
from auroral.model.deployment import endpoint
from auroral.node.fleet.control import alive
from auroral.node.fleet.deployed import Deployed
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet, can_be_bound, free_ports
from auroral.node.storeddiagram import load_diagram
from auroral.node.verify import verify_folder

PATIENT = 90.0
"""Seconds that anything is waited for, on a machine that has other things to do."""


def watch(kept: bool = False) -> DiagramBuilder:
    d = auroral.diagram("watch", bucket="500ms")
    east, west = (d.input(name, "host string, n int") for name in ("east", "west"))
    high = east.union("both", west).filter("high", "n > 2")
    if kept:
        high.keep("recent", last="10min")
    sums = {"rows": "count()", "total": "sum(n)"}
    high.aggregate("sums", sums, window="2s", advance="500ms", by=["host"]).output(availability="8s")
    return d


def a_row(name: str, number: int) -> dict[str, Any]:
    """The same ones in every life."""
    n = random.Random(f"{name} {number}").randrange(10)
    return {"host": f"h{n % 3}", "n": n}


class Feeds:
    """Lines to both sources, a few at a time, for as long as it is open. Goes on where it was when a source comes back."""

    def __init__(self, fleet: Fleet, row: Callable[[str, int], dict[str, Any]] = a_row):
        """`row` of an input, by its number."""
        self.fleet, self.row, self.stop = fleet, row, threading.Event()
        self.sent = {"east": 0, "west": 0}
        self._threads = [threading.Thread(target=self._feed, args=(name,), daemon=True) for name in self.sent]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join()

    def _feed(self, name: str) -> None:
        while not self.stop.is_set():
            try:
                at = endpoint(self.fleet.deployed.agreed.inputs[name].removeprefix("tcp:"))
                with (
                    socket.create_connection((at.host, at.port), 5) as connection,
                    connection.makefile("rb") as answers,
                ):
                    self._lines(name, connection, answers)
            except (OSError, ValueError):
                # It was killed, and comes back.
                time.sleep(0.1)

    def _lines(self, name: str, connection: socket.socket, answers: Any) -> None:
        self.sent[name] = json.loads(answers.readline())["rows"]
        while not self.stop.wait(0.05):
            rows = [self.row(name, self.sent[name] + i) for i in range(5)]
            connection.sendall(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
            # Answered once they are durable, in one batch or several.
            while self.sent[name] < json.loads(answers.readline())["rows"] - 5:
                pass
            self.sent[name] += 5


def until(found: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENT
    while not (what := found()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.1)
    return what


def client(fleet: Fleet) -> dict[str, Any]:
    return fleet.status()["client"] or {"counts": {}, "streams": {}}


def frontier(fleet: Fleet) -> int:
    return int(client(fleet)["streams"].get("sums", {}).get("frontier", 0))


def closed(fleet: Fleet) -> int:
    """The bucket up to which both sources have given all by now: the clock goes on closing more."""
    status = fleet.status()
    return min(int((status[name] or {})["closed"]) for name in ("east", "west"))


def all_is_stable(fleet: Fleet) -> None:
    """All that is closed by now."""
    last = closed(fleet)
    until(lambda: frontier(fleet) >= last)


def free_in_a_row(count: int) -> int:
    """The first of so many ports."""
    return next(base for base in free_ports(100) if all(can_be_bound("127.0.0.1", base + n) for n in range(count)))


@contextmanager
def running(folder: Path, **how: Any) -> Iterator[Fleet]:
    """As `prepare` takes it. At the end also nodes end that came since."""
    prepare(folder, watch().check(), **how)
    try:
        yield fleet_in(folder).up(lambda _: None)
    finally:
        fleet_in(folder).down(lambda _: None)


def fleet_in(folder: Path) -> Fleet:
    """With the nodes that came since."""
    return Fleet(Deployed.look(folder, load_diagram(folder)))


def members(folder: Path) -> list[str]:
    """The replicas of the only query, as the catalog has them."""
    found: list[str] = (fleet_in(folder).status()["catalog"] or {}).get("members", {}).get("n", [])
    return found


def goes_on(fleet: Fleet, buckets: int = 4) -> None:
    before = until(lambda: frontier(fleet))
    until(lambda: frontier(fleet) > before + buckets)


def right_in_the_end(fleet: Fleet, spark: Any) -> None:
    """Nothing is lost, nobody is left behind, and the output is that of a batch run."""
    all_is_stable(fleet)
    assert client(fleet)["streams"]["sums"].get("missed", 0) == 0
    pids = [fleet.pid(name) for name in fleet.deployed.processes]
    fleet.down(lambda _: None)
    assert not any(map(alive, pids)), "a process was left behind"
    report = verify_folder(spark, fleet.deployed.folder)
    assert report.ok, report.text
