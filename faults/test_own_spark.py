"""Nodes of a deployment that have a Spark for themselves, through failures."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from auroral.node.fleet.control import alive
from auroral.node.fleet.eventlog import events_in
from auroral.node.fleet.preparing import prepare
from auroral.node.fleet.processes import Fleet
from auroral.node.verify import verify_folder
from fleet.deployments import Feeds, client, closed, frontier, until, watch

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@contextmanager
def running(folder: Path, spark: str) -> Iterator[Fleet]:
    fleet = Fleet(prepare(folder, watch().check(), spark=spark, bound=12.0))
    try:
        yield fleet.up(lambda _: None)
    finally:
        fleet.down(lambda _: None)


def jvm_of(fleet: Fleet, name: str) -> int:
    found = subprocess.run(["pgrep", "-P", str(fleet.pid(name)), "java"], capture_output=True, text=True, check=False)
    (pid,) = found.stdout.split()
    return int(pid)


def goes_on(fleet: Fleet) -> None:
    before = until(lambda: frontier(fleet))
    until(lambda: frontier(fleet) > before + 4)


def right_in_the_end(fleet: Fleet, spark: Any) -> None:
    last = closed(fleet)
    until(lambda: frontier(fleet) >= last)
    pids = [fleet.pid(name) for name in fleet.deployed.processes]
    fleet.down(lambda _: None)
    assert not any(map(alive, pids)), "a process was left behind"
    report = verify_folder(spark, fleet.deployed.folder)
    assert report.ok, report.text


def test_a_spark_for_each_node_through_a_kill_and_a_cut(tmp_path: Path, spark: Any) -> None:
    with running(tmp_path / "live", "own") as fleet:
        assert fleet.deployed.processes == ("catalog", "east", "west", "na", "nb", "client")
        jvms = {name: jvm_of(fleet, name) for name in ("na", "nb")}
        with closing(Feeds(fleet)):
            until(lambda: frontier(fleet) > 4)
            status = fleet.status()["na"]
            assert status is not None and status["rss"] > 300e6, "the memory of the JVM is counted"
            # With its process, the JVM of a node ends, and nobody else's.
            fleet.kill("na")
            until(lambda: not alive(jvms["na"]))
            assert alive(jvms["nb"])
            goes_on(fleet)
            fleet.up(lambda _: None)
            fleet.cut("west", "nb")
            goes_on(fleet)
            fleet.heal("west", "nb")
            # Without its JVM a node ends, and comes back with another.
            os.kill(jvm_of(fleet, "nb"), signal.SIGKILL)
            until(lambda: not fleet.lives("nb"))
            fleet.up(lambda _: None)
            goes_on(fleet)
            until(lambda: not client(fleet)["streams"]["sums"]["tentative_now"])
        failed = [e for e in events_in(fleet.deployed.folder) if e["process"] == "nb" and e["event"] == "failed"]
        assert failed and "the JVM of Spark has ended" in failed[0]["detail"]
        right_in_the_end(fleet, spark)
