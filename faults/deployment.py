"""A deployment under load for the fault suite: fed over TCP by senders that go on where they were, and judged at the end."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from faults.watching import Watch

import auroral
from auroral.model.builder import DiagramBuilder
from auroral.model.deployment import endpoint
from auroral.node.fleet.control import NoAnswer, alive
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet, free_ports
from auroral.node.outputlog import OutputLog
from auroral.node.report import Report
from auroral.node.runfolder import RunFolder
from auroral.node.verify import verify_folder

SITES = ("east", "west", "north")
PATIENT = 180.0
"""Seconds that anything may take on a machine that has other things to do."""
ROWS, EVERY = 10, 0.1
CUTS = [(site, node) for site in SITES for node in ("mergea", "mergeb")]
CUTS += [(one, other) for one in ("mergea", "mergeb") for other in ("counta", "countb")]
CUTS += [("counta", "client"), ("countb", "client"), ("mergea", "mergeb"), ("counta", "countb")]
"""All links over which rows or promises go."""
SPARK_OF_NODES = "shared"
"""What nodes compute with."""


def watched(stamped: bool = False, sheds: bool = False) -> DiagramBuilder:
    """Three sites, merged on one replica set, counted on another. `stamped`: rows carry the time of their site's clock; `sheds`: some rows are
    left out on purpose, and counted."""
    d = auroral.diagram("watched", bucket="1s")
    if stamped:
        east, west, north = (d.input(name, "ts timestamp, host string, n int", stime="ts") for name in SITES)
    else:
        east, west, north = (d.input(name, "host string, n int") for name in SITES)
    with d.query("merge"):
        high = east.union("all", west, north).filter("high", "n > 2")
        if sheds:
            high = high.drop("some", 0.2)
    with d.query("count"):
        sums = {"rows": "count()", "total": "sum(n)", "last": "lastval(n)"}
        high.aggregate("sums", sums, window="3s", advance="1s", by=["host"]).output(availability="10s")
    return d


class Senders:
    """Rows to all sites. One whose source is away goes on with the first row that was not logged when it is back."""

    def __init__(self, fleet: Fleet, clocks: Mapping[str, float] | None = None, rows: int = ROWS):
        """`clocks`: by how many seconds each site's clock is ahead, where rows carry its time; `rows` are sent at a time."""
        self.fleet, self.clocks, self.rows, self.stop = fleet, clocks, rows, threading.Event()
        self.watch = Watch(fleet)
        self.sent = dict.fromkeys(SITES, 0)
        self._threads = [threading.Thread(target=self._send, args=(name,), daemon=True) for name in SITES]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Of the watch, who judges what it saw does so."""
        self.stop.set()
        for thread in self._threads:
            thread.join(10)

    def _send(self, name: str) -> None:
        at = endpoint(self.fleet.deployed.agreed.inputs[name].removeprefix("tcp:"))
        while not self.stop.is_set():
            try:
                with socket.create_connection((at.host, at.port), 5) as connection:
                    connection.settimeout(5)
                    with connection.makefile("rb") as answers:
                        self._rows(name, connection, answers)
            except (OSError, ValueError, KeyError):
                # Killed, stopped, just starting, or it answers that it can log nothing.
                self.stop.wait(0.2)

    def _rows(self, name: str, connection: socket.socket, answers: Any) -> None:
        logged = self.sent[name] = int(json.loads(answers.readline())["rows"])
        while not self.stop.wait(EVERY):
            numbers = [zlib.crc32(f"{name} {logged + i}".encode()) % 10 for i in range(self.rows)]
            rows: list[dict[str, Any]] = [{"host": f"h{n % 4}", "n": n} for n in numbers]
            if self.clocks is not None:
                shows = datetime.fromtimestamp(time.time() + self.clocks[name], UTC).isoformat()
                rows = [{"ts": shows, **row} for row in rows]
            connection.sendall(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
            wanted = logged + self.rows
            while logged < wanted:
                logged = int(json.loads(answers.readline())["rows"])
            self.sent[name] = logged


def placed(ports: Iterable[int]) -> str:
    """Two replicas of each query."""
    free = iter(ports)

    def replicas(query: str) -> str:
        nodes = "".join(f'<node endpoint="127.0.0.1:{next(free)}"/>' for _ in range(2))
        return f'<replica_set name="{query}" query="{query}">{nodes}</replica_set>'

    return f"<deploy>{replicas('merge')}{replicas('count')}</deploy>"


@contextmanager
def deployed(folder: Path, stamped: bool = False, sheds: bool = False, **how: Any) -> Iterator[Fleet]:
    """`how` besides, as `prepare` takes it. What comes out is written to a table and to files as well."""
    sinks = [("sums", f"sqlite:{folder.with_suffix('.db')}#sums"), ("sums", str(folder.with_suffix(".jsonl")))]
    asked = placed(free_ports(4))
    diagram = watched(stamped, sheds).check()
    fleet = Fleet(prepare(folder, diagram, asked, spark=SPARK_OF_NODES, outputs=sinks, **how))
    try:
        yield fleet.up(lambda _: None)
    finally:
        for name in fleet.deployed.processes:
            if fleet.lives(name):
                os.kill(fleet.pid(name), signal.SIGCONT)
        fleet.down(lambda _: None)


def until(what: str, found: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENT
    while not (it := found()):
        assert time.monotonic() < end, f"not within {PATIENT:g} s: {what}"
        time.sleep(0.2)
    return it


def client(fleet: Fleet) -> dict[str, Any]:
    return fleet.status()["client"] or {"counts": {"tentative": 0}, "streams": {}}


def frontier(fleet: Fleet) -> int:
    return int(client(fleet)["streams"].get("sums", {}).get("frontier", 0))


def closed(fleet: Fleet) -> int:
    status = fleet.status()
    return min((status[name] or {}).get("closed", 0) for name in SITES)


def closed_of(fleet: Fleet, site: str) -> int:
    return int((fleet.status()[site] or {})["closed"])


def in_time(fleet: Fleet, senders: Senders) -> None:
    """There was a way for answers all the time, and the client was never away: all of them came within X."""
    found = client(fleet)["streams"]["sums"]
    assert found["delay_new"] < fleet.deployed.settings.bound, (found, senders.watch.latest())


def right_in_the_end(fleet: Fleet, spark: Any, senders: Senders, *, answered: bool = False) -> Report:
    """All is healed: everything becomes stable, nothing stays tentative, nothing is lost or doubled, memory was bounded, nobody is left behind.

    `answered`: all answers came in time, too.
    """
    heal(fleet)
    fleet.up(lambda _: None)
    begun = closed(fleet)
    until("the stable output follows again", lambda: frontier(fleet) > begun + 3)
    senders.close()
    last = closed(fleet)
    until("all that was closed is stable", lambda: frontier(fleet) >= last)
    assert client(fleet)["streams"]["sums"].get("missed", 0) == 0
    if answered:
        in_time(fleet, senders)
    pids = [fleet.pid(name) for name in fleet.deployed.processes]
    senders.watch.close()
    fleet.down(lambda _: None)
    assert not any(map(alive, pids)), "a process was left behind"
    senders.watch.must_be_gone()
    senders.watch.must_be_bounded()
    report = verify_folder(spark, fleet.deployed.folder)
    assert report.ok, report.text
    sinks_are_right(fleet)
    for name, sent in senders.sent.items():
        assert f"input {name}: rows logged, in unbroken order: {sent}\n" in report.text, (name, sent, report.text)
    return report


def shed_rows_are_counted(report: Report, *replicas: str) -> None:
    """By each of these for as long as it was there, and by some replica at any time. That the counts are right `verify` has judged."""
    for replica in replicas:
        (line,) = [line for line in report.ledger if line.what.startswith(f"box some at merge@{replica}: rows shed")]
        assert line.found > 0, report.text
    assert "nobody here counted" not in report.text, report.text


def output_of(fleet: Fleet) -> list[tuple[Any, ...]]:
    """What is stable: the stime of each row, and its values."""
    folder = RunFolder.look(fleet.deployed.folder).output("sums")
    log = OutputLog.look(folder, fleet.deployed.checked.streams["sums"].schema)
    rows = log.read()
    return sorted(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def sinks_are_right(fleet: Fleet) -> None:
    """The table and the files have what was given out stable, each row once."""
    names = fleet.deployed.checked.streams["sums"].schema.names
    expected = Counter(row[1:] for row in output_of(fleet))
    folder = fleet.deployed.folder
    with closing(sqlite3.connect(folder.with_suffix(".db"))) as database:
        found = database.execute(f"SELECT _tentative, {', '.join(names)} FROM sums").fetchall()
    # What was tentative when it ended was not to become stable any more.
    assert Counter(row[1:] for row in found if not row[0]) == expected
    lines = folder.with_suffix(".jsonl").read_text().splitlines()
    assert Counter(tuple(json.loads(line)[name] for name in names) for line in lines) == expected


def heal(fleet: Fleet) -> None:
    for name in fleet.deployed.processes:
        if fleet.lives(name):
            os.kill(fleet.pid(name), signal.SIGCONT)
    places = [*SITES, *fleet.deployed.nodes, "client"]
    for one in places:
        for other in places:
            if one != other and fleet.lives(one):
                try:
                    fleet.ask(one, "heal", peer=other)
                    fleet.ask(one, "slow", peer=other, seconds=0)
                except NoAnswer:
                    # It is just ending, and forgets its cuts with it.
                    continue
    for site in SITES:
        if fleet.lives(site):
            fleet.ask(site, "resume")


def jvm_of(fleet: Fleet, name: str) -> int:
    found = subprocess.run(["pgrep", "-P", str(fleet.pid(name)), "java"], capture_output=True, text=True, check=True)
    return int(found.stdout)
